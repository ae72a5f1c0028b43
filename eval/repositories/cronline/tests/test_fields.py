import unittest

from cronline.fields import CronError, field, fields


class Fields(unittest.TestCase):
    def test_each_form(self):
        for text, wanted in (("5", {5}), ("1-3", {1, 2, 3}), ("1,7", {1, 7}), ("*/20", {0, 20, 40}), ("10-50/20", {10, 30, 50}), ("50/5", {50, 55})):
            self.assertEqual(field(text, "minute", 0, 59), wanted, text)

    def test_sunday_has_two_numbers(self):
        self.assertEqual(fields("0 0 * * 7")["weekday"], {0})
        self.assertEqual(fields("0 0 * * 5-7")["weekday"], {5, 6, 0})

    def test_refused(self):
        for line in ("60 * * * *", "* * 0 * *", "* * * *", "a * * * *", "5-1 * * * *", "*/0 * * * *", "1, * * * *"):
            with self.assertRaises(CronError, msg=line):
                fields(line)

import unittest

from durations import DurationError, parse


class Clock(unittest.TestCase):
    def test_clock(self):
        self.assertEqual(parse("2:05"), 125)
        self.assertEqual(parse("1:30:00"), 5400)
        self.assertEqual(parse("90:00"), 5400)
        self.assertEqual(parse("0:00"), 0)

    def test_refused(self):
        for text in ("1:5", "1:75", "1:00:00:00", ":30", "1:", "1:60:00", "1:005"):
            with self.assertRaises(DurationError, msg=text):
                parse(text)

    def test_units_still_work(self):
        self.assertEqual(parse("1h 30m"), 5400)

import unittest

from durations import DurationError, parse


class Parse(unittest.TestCase):
    def test_one_unit(self):
        self.assertEqual(parse("45s"), 45)
        self.assertEqual(parse("2d"), 172800)

    def test_several_units(self):
        self.assertEqual(parse("1h30m"), 5400)
        self.assertEqual(parse("1h 30m 5s"), 5405)

    def test_capitals(self):
        self.assertEqual(parse("2H"), 7200)

    def test_refuses_what_is_no_duration(self):
        for text in ("", "  ", "h", "12", "3y", "1h,2m"):
            with self.assertRaises(DurationError):
                parse(text)

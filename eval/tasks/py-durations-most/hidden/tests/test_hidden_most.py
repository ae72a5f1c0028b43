import unittest

from durations import show


class Most(unittest.TestCase):
    def test_first_parts(self):
        self.assertEqual(show(90061, most=2), "1d 1h")
        self.assertEqual(show(90061, most=1), "1d")
        self.assertEqual(show(90061, 3), "1d 1h 1m")

    def test_what_is_shown_counts(self):
        self.assertEqual(show(86460, most=2), "1d 1m")
        self.assertEqual(show(604801, most=2), "1w 1s")

    def test_dropped_not_rounded(self):
        self.assertEqual(show(7199, most=1), "1h")

    def test_negative(self):
        self.assertEqual(show(-3661, most=1), "-1h")
        self.assertEqual(show(-3661, most=2), "-1h 1m")

    def test_fewer_parts_than_that(self):
        self.assertEqual(show(59, most=3), "59s")
        self.assertEqual(show(0, most=1), "0s")

    def test_without(self):
        self.assertEqual(show(90061), "1d 1h 1m 1s")
        self.assertEqual(show(-61), "-1m 1s")
        self.assertEqual(show(90061, most=None), "1d 1h 1m 1s")

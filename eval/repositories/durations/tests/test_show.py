import unittest

from durations import calc, parse, show


class Show(unittest.TestCase):
    def test_parts(self):
        self.assertEqual(show(5400), "1h 30m")
        self.assertEqual(show(604800 + 1), "1w 1s")

    def test_nothing(self):
        self.assertEqual(show(0), "0s")

    def test_negative(self):
        self.assertEqual(show(-61), "-1m 1s")

    def test_is_read_back(self):
        for seconds in (1, 59, 3600, 90061):
            self.assertEqual(parse(show(seconds)), seconds)


class Total(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(calc(["1m", "30s"]), 90)
        self.assertEqual(calc([]), 0)

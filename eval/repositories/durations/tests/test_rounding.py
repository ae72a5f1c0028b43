import unittest

from durations.rounding import whole_hours, whole_minutes


class Rounding(unittest.TestCase):
    def test_minutes(self):
        self.assertEqual([whole_minutes(s) for s in (0, 29, 30, 95)], [0, 0, 60, 120])

    def test_hours(self):
        self.assertEqual([whole_hours(s) for s in (1799, 1800, 5400)], [0, 3600, 7200])

import unittest
from unittest import mock

from durations import rounding


class RoundTo(unittest.TestCase):
    def test_rounds(self):
        self.assertEqual([rounding.round_to(n, 10) for n in (0, 4, 5, 14, 15)], [0, 0, 10, 10, 20])

    def test_both_use_it(self):
        with mock.patch.object(rounding, "round_to", side_effect=lambda seconds, size: (seconds, size)):
            self.assertEqual(rounding.whole_minutes(95), (95, 60))
            self.assertEqual(rounding.whole_hours(95), (95, 3600))

    def test_same_results(self):
        self.assertEqual([rounding.whole_minutes(s) for s in (29, 30, 95)], [0, 60, 120])
        self.assertEqual([rounding.whole_hours(s) for s in (1799, 1800)], [0, 3600])

from datetime import datetime, timedelta
from fractions import Fraction
from unittest import TestCase

from more_itertools import numeric_range


class Slices(TestCase):
    def test_as_range_does(self):
        for own in ((0, 10, 2), (3, 20, 3), (10, 0, -2), (0, 7)):
            for step in (1, 2, 3, None):
                for start in (None, 0, 1, -2):
                    for stop in (None, 3, -1):
                        wanted = list(range(*own)[start:stop:step])
                        self.assertEqual(list(numeric_range(*own)[start:stop:step]), wanted, (own, start, stop, step))

    def test_other_numbers(self):
        self.assertEqual(list(numeric_range(5.0, 0.0, -1.0)[::2]), [5.0, 3.0, 1.0])
        half = Fraction(1, 2)
        self.assertEqual(list(numeric_range(half, 3, half)[1::2]), [Fraction(1), Fraction(2)])

    def test_dates(self):
        day = timedelta(days=1)
        dates = numeric_range(datetime(2024, 1, 1), datetime(2024, 1, 8), day)[::3]
        self.assertEqual([date.day for date in dates], [1, 4, 7])

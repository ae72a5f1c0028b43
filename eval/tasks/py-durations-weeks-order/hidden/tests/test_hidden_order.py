import unittest
from unittest import mock

from durations import parse, show, units


class Order(unittest.TestCase):
    def test_days_and_weeks(self):
        self.assertEqual(show(90061), "1d 1h 1m 1s")
        self.assertEqual(show(2 * 604800 + 86400), "2w 1d")
        self.assertEqual(show(86399), "23h 59m 59s")

    def test_whatever_the_order_of_the_table(self):
        table = dict(sorted(units.SECONDS.items()))
        with mock.patch.dict(units.SECONDS, clear=True):
            units.SECONDS.update(table)
            self.assertEqual(show(5405), "1h 30m 5s")
            self.assertEqual(parse("1h 30m 5s"), 5405)

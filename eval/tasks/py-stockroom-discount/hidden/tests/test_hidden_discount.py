import unittest

from stockroom import pricing
from stockroom.items import Item


class Discount(unittest.TestCase):
    def test_each_step(self):
        wanted = {1: 0, 9: 0, 10: 5, 49: 5, 50: 10, 99: 10, 100: 15, 1000: 15}
        self.assertEqual({count: pricing.discount(count) for count in wanted}, wanted)

    def test_totals(self):
        self.assertEqual(pricing.line_total(Item("bolt", 500, 200), 100), 17000)
        self.assertEqual(pricing.line_total(Item("bolt", 500, 200), 50), 9000)

    def test_the_table_keeps_its_order(self):
        self.assertEqual(list(pricing.DISCOUNTS), [(10, 5), (50, 10), (100, 15)])

import unittest

from stockroom.items import Item
from stockroom.pricing import discount, line_total, stock_value
from stockroom.shelf import Shelf


class Pricing(unittest.TestCase):
    def test_discount(self):
        self.assertEqual([discount(n) for n in (1, 9, 10, 49, 50, 100, 5000)], [0, 0, 5, 5, 10, 15, 15])

    def test_line_total(self):
        self.assertEqual(line_total(Item("bolt", 100, 200), 10), 1900)
        self.assertEqual(line_total(Item("bolt", 100, 15), 1), 15)

    def test_stock_value(self):
        self.assertEqual(stock_value(Shelf([Item("a", 2, 50), Item("b", 1, 1)])), 101)

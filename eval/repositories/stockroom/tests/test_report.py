import unittest

from stockroom.items import Item
from stockroom.report import shopping_list, table
from stockroom.shelf import Shelf


class Report(unittest.TestCase):
    def test_table(self):
        lines = table(Shelf([Item("nut", 2, 5), Item("bolt", 10, 1250)])).splitlines()
        self.assertEqual(lines[0].split(), ["bolt", "10", "12.50"])
        self.assertEqual(lines[1].split(), ["nut", "2", "0.05", "!"])
        self.assertEqual(lines[2].split(), ["total", "125.10"])

    def test_shopping_list(self):
        self.assertEqual(shopping_list(Shelf([Item("nut", 2, 5), Item("bolt", 10, 15)])), "18 x nut (0.90)")

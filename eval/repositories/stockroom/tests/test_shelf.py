import unittest

from stockroom.items import Item
from stockroom.shelf import OutOfStock, Shelf


class ShelfTests(unittest.TestCase):
    def setUp(self):
        self.shelf = Shelf([Item("bolt", 10, 15), Item("nut", 2, 5)])

    def test_adds(self):
        self.assertEqual(self.shelf.add("bolt", 5).count, 15)
        self.assertEqual(self.shelf.find("bolt").cents, 15)
        self.assertEqual(self.shelf.add("washer", 1, 3).cents, 3)
        self.assertEqual(len(self.shelf), 3)

    def test_takes(self):
        self.assertEqual(self.shelf.take("bolt", 10).count, 0)

    def test_not_more_than_there_is(self):
        with self.assertRaises(OutOfStock):
            self.shelf.take("nut", 3)
        self.assertEqual(self.shelf.find("nut").count, 2)

    def test_unknown(self):
        with self.assertRaises(KeyError):
            self.shelf.take("screw", 1)

    def test_low(self):
        self.assertEqual([item.name for item in self.shelf.low()], ["nut"])

import io
import os
import tempfile
import unittest

from stockroom import storage
from stockroom.cli import main
from stockroom.items import Item
from stockroom.shelf import Shelf


class Rename(unittest.TestCase):
    def setUp(self):
        self.shelf = Shelf([Item("blot", 10, 15, 3), Item("nut", 2, 5)])

    def test_keeps_everything(self):
        self.shelf.rename("blot", "bolt")
        self.assertEqual(self.shelf.find("bolt"), Item("bolt", 10, 15, 3))
        self.assertEqual([item.name for item in self.shelf], ["bolt", "nut"])
        with self.assertRaises(KeyError):
            self.shelf.find("blot")

    def test_refuses(self):
        for old, new, error in (("blot", "nut", ValueError), ("screw", "bolt", KeyError), ("blot", " ", ValueError)):
            with self.assertRaises(error):
                self.shelf.rename(old, new)
            self.assertEqual([item.name for item in self.shelf], ["blot", "nut"])
            self.assertEqual(self.shelf.find("nut").count, 2)

    def test_command(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s.json")
            storage.save(path, self.shelf)
            out = io.StringIO()
            self.assertEqual(main(["--file", path, "rename", "blot", "bolt"], out), 0)
            self.assertEqual(storage.load(path).find("bolt").count, 10)
            self.assertEqual(main(["--file", path, "rename", "bolt", "nut"], out), 1)
            self.assertEqual(main(["--file", path, "rename", "gone", "new"], out), 1)
            self.assertIn("gone", out.getvalue())

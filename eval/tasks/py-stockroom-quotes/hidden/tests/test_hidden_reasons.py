import io
import os
import tempfile
import unittest

from stockroom.cli import main
from stockroom.shelf import Shelf


class Reasons(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "shelf.json")

    def run_it(self, *words):
        out = io.StringIO()
        return main(["--file", self.file, *words], out), out.getvalue()

    def test_unknown(self):
        self.assertEqual(self.run_it("take", "bolt", "1"), (1, "stockroom: nothing called 'bolt'\n"))
        self.assertEqual(self.run_it("take", "big nut", "2"), (1, "stockroom: nothing called 'big nut'\n"))
        self.assertEqual(self.run_it("take", "it's", "1"), (1, "stockroom: nothing called \"it's\"\n"))

    def test_the_others(self):
        self.assertEqual(self.run_it("add", "bolt", "0"), (1, "stockroom: count must be positive\n"))
        self.assertEqual(self.run_it("add", "bolt", "40"), (0, ""))
        self.assertEqual(self.run_it("take", "bolt", "50"), (1, "stockroom: bolt: 40 left, 50 asked for\n"))
        self.assertEqual(self.run_it("add", " ", "1"), (1, "stockroom: an item needs a name\n"))

    def test_still_a_key_error(self):
        with self.assertRaises(KeyError):
            Shelf().find("bolt")

import io
import os
import tempfile
import unittest

from stockroom.cli import main


class CommandLine(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "shelf.json")

    def run_it(self, *words):
        out = io.StringIO()
        return main(["--file", self.file, *words], out), out.getvalue()

    def test_adds_takes_and_lists(self):
        self.assertEqual(self.run_it("add", "bolt", "40", "--price", "0.15"), (0, ""))
        self.assertEqual(self.run_it("take", "bolt", "4"), (0, ""))
        code, text = self.run_it("list")
        self.assertEqual(code, 0)
        self.assertEqual(text.splitlines()[0].split(), ["bolt", "36", "0.15"])

    def test_says_what_is_wrong(self):
        code, text = self.run_it("take", "bolt", "1")
        self.assertEqual(code, 1)
        self.assertIn("bolt", text)

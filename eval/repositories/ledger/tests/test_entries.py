import pathlib
import unittest
from datetime import date

from ledger.entries import Entry, EntryError, load, read

BOOKS = pathlib.Path(__file__).parent / "books.csv"


class Entries(unittest.TestCase):
    def test_file(self):
        entries = load(BOOKS)
        self.assertEqual(len(entries), 4)
        self.assertEqual(entries[1], Entry(date(2024, 3, 9), "cash", -1250, "paper, pens"))

    def test_says_which_line(self):
        for line in ("2024-13-01,a,1", "2024-01-01,a,x", "2024-01-01,,1", "2024-01-01"):
            with self.assertRaisesRegex(EntryError, "line 2"):
                read(["# comment", line])

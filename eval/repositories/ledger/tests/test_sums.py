import io
import pathlib
import unittest

from ledger.__main__ import main
from ledger.entries import load
from ledger.sums import balances, of_month, running

BOOKS = pathlib.Path(__file__).parent / "books.csv"


class Sums(unittest.TestCase):
    def setUp(self):
        self.entries = load(BOOKS)

    def test_balances(self):
        self.assertEqual(balances(self.entries), {"cash": 8700, "bank": 700})

    def test_month(self):
        self.assertEqual(len(of_month(self.entries, 2024, 3)), 2)

    def test_running(self):
        self.assertEqual([total for _, total in running(self.entries, "cash")], [10000, 8750, 8700])


class CommandLine(unittest.TestCase):
    def test_balance(self):
        out = io.StringIO()
        self.assertEqual(main(["balance", str(BOOKS)], out), 0)
        self.assertEqual([line.split() for line in out.getvalue().splitlines()], [["bank", "7.00"], ["cash", "87.00"], ["total", "94.00"]])

    def test_month(self):
        out = io.StringIO()
        self.assertEqual(main(["month", str(BOOKS), "2024-04"], out), 0)
        self.assertEqual(out.getvalue(), "2024-04-02  bank                   7.00  interest\n2024-04-03  cash                  -0.50\n")

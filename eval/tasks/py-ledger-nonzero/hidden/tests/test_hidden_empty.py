import io
import os
import tempfile
import unittest

from ledger.__main__ import main
from ledger.text import balance_table

BOOKS = "2024-03-01,cash,100.00\n2024-03-02,old,5\n2024-03-03,old,-5\n2024-03-04,card,-1.50\n"


class Table(unittest.TestCase):
    def test_without_empty_accounts(self):
        self.assertEqual(balance_table({"bank": 0, "cash": 100}, nonzero=True), balance_table({"cash": 100}))
        self.assertEqual(balance_table({"cash": 100, "bank": 0}, True), "cash         1.00\ntotal        1.00")

    def test_width_of_what_is_shown(self):
        self.assertEqual(balance_table({"a very long name": 0, "cash": 100}, nonzero=True), balance_table({"cash": 100}))

    def test_negative_stays(self):
        self.assertEqual(balance_table({"card": -150, "cash": 150}, nonzero=True), balance_table({"card": -150, "cash": 150}))

    def test_nothing_left(self):
        self.assertEqual(balance_table({"bank": 0}, nonzero=True), balance_table({}))

    def test_as_before(self):
        self.assertEqual(balance_table({"bank": 0, "cash": 100}), "bank         0.00\ncash         1.00\ntotal        1.00")
        self.assertEqual(balance_table({"bank": 0}, nonzero=False), balance_table({"bank": 0}))

    def test_values_are_not_changed(self):
        balances = {"bank": 0, "cash": 100}
        balance_table(balances, nonzero=True)
        self.assertEqual(balances, {"bank": 0, "cash": 100})


class Command(unittest.TestCase):
    def accounts(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "books.csv")
            with open(path, "w", encoding="utf-8") as file:
                file.write(BOOKS)
            out = io.StringIO()
            self.assertEqual(main(["balance", path, *options], out), 0)
        return [line.split() for line in out.getvalue().splitlines()]

    def test_option(self):
        self.assertEqual(self.accounts("--nonzero"), [["card", "-1.50"], ["cash", "100.00"], ["total", "98.50"]])

    def test_no_option(self):
        self.assertEqual(self.accounts(), [["card", "-1.50"], ["cash", "100.00"], ["old", "0.00"], ["total", "98.50"]])

import ast
import pathlib
import unittest

from stockroom import report
from stockroom.items import Item
from stockroom.shelf import Shelf


class Money(unittest.TestCase):
    def test_money(self):
        self.assertEqual(report.money(1250), "12.50")
        self.assertEqual(report.money(5), "0.05")
        self.assertEqual(report.money(0), "0.00")

    def test_negative(self):
        self.assertEqual(report.money(-5), "-0.05")
        self.assertEqual(report.money(-1250), "-12.50")

    def test_in_one_place_and_used(self):
        tree = ast.parse(pathlib.Path(report.__file__).read_text())
        for function in [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]:
            divides = [n for n in ast.walk(function) if isinstance(n, ast.BinOp) and isinstance(n.op, (ast.Mod, ast.FloorDiv))]
            calls = [n for n in ast.walk(function) if isinstance(n, ast.Call) and getattr(n.func, "id", "") == "money"]
            if function.name in ("table", "shopping_list"):
                self.assertEqual(divides, [], function.name)
                self.assertTrue(calls, function.name)

    def test_same_text(self):
        shelf = Shelf([Item("nut", 2, 5), Item("bolt", 10, 1250)])
        self.assertEqual(report.table(shelf), "bolt                    10     12.50\nnut                      2      0.05 !\ntotal                         125.10")
        self.assertEqual(report.shopping_list(shelf), "18 x nut (0.90)")

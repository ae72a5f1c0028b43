import argparse
import ast
import inspect
import io
import pathlib
import unittest

from ledger import __main__ as program
from ledger.entries import load

BOOKS = pathlib.Path(__file__).parent / "books.csv"


class Commands(unittest.TestCase):
    def test_functions_return_text(self):
        loaded = load(BOOKS)
        said = program.balance(argparse.Namespace(file=str(BOOKS)), loaded)
        self.assertEqual([line.split() for line in said.splitlines()][-1], ["total", "94.00"])
        said = program.month(argparse.Namespace(file=str(BOOKS), month="2024-03"), loaded)
        self.assertEqual(len(said.splitlines()), 2)

    def test_main_doesnt_ask_for_names(self):
        source = inspect.getsource(program)
        self.assertEqual(source.count(".load("), 1)
        self.assertIn("set_defaults", source)
        compared = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Compare)
                    and any(isinstance(n, ast.Constant) and n.value in ("balance", "month") for n in ast.walk(node))]
        self.assertEqual(compared, [])

    def test_same_behaviour(self):
        for words, code in ((["balance", str(BOOKS)], 0), (["month", str(BOOKS), "2024-04"], 0), (["balance", "none.csv"], 1), (["month", str(BOOKS), "x"], 1)):
            out = io.StringIO()
            self.assertEqual(program.main(words, out), code, words)
            self.assertEqual(out.getvalue().startswith("ledger: "), code == 1)

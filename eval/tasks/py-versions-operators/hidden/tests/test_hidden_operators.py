import ast
import inspect
import operator
import unittest

from versions import Range, Version, ranges


class Operators(unittest.TestCase):
    def test_table(self):
        self.assertEqual(ranges.OPERATORS, {">=": operator.ge, ">": operator.gt, "<=": operator.le, "<": operator.lt})

    def test_no_chain_left(self):
        tree = ast.parse(inspect.getsource(ranges))
        signs = [node.value for node in ast.walk(tree) if isinstance(node, ast.Compare)
                 for node in ast.walk(node) if isinstance(node, ast.Constant)]
        self.assertFalse({">=", ">", "<=", "<"} & set(signs), "still compared one by one")

    def test_unknown_is_an_error(self):
        with self.assertRaises(Exception):
            Version.parse("1.0.0") in Range([[("!", Version(2, 0, 0))]])

    def test_results(self):
        for text, wanted in ((">=1.2", "011"), (">1.2", "001"), ("<=1.2", "110"), ("<1.2", "100"), ("~1.2", "011"), ("^1.2 <1.2.1", "010")):
            got = "".join("01"[Version.parse(v) in Range.parse(text)] for v in ("1.1.0", "1.2.0", "1.2.5"))
            self.assertEqual(got, wanted, text)

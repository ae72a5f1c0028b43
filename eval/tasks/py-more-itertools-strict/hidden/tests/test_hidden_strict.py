import ast
import inspect
from unittest import TestCase

import more_itertools
from more_itertools import chunked, sliced
from more_itertools import more


class Strict(TestCase):
    def test_the_function(self):
        parts = more._strict_parts(iter(["ab", "cd", "e", "fg"]), 2, "no")
        self.assertEqual([next(parts), next(parts)], ["ab", "cd"])
        with self.assertRaisesRegex(ValueError, "^no$"):
            next(parts)
        self.assertFalse(hasattr(more_itertools, "_strict_parts"))

    def test_one_place(self):
        for function in (chunked, sliced):
            tree = ast.parse(inspect.getsource(function))
            inner = [node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.For))]
            self.assertEqual(len(inner), 1, function.__name__)
            self.assertIn("_strict_parts(", inspect.getsource(function))

    def test_messages(self):
        with self.assertRaisesRegex(ValueError, "^iterable is not divisible by n.$"):
            list(chunked([1, 2, 3], 2, strict=True))
        with self.assertRaisesRegex(ValueError, "^seq is not divisible by n.$"):
            list(sliced([1, 2, 3], 2, strict=True))
        with self.assertRaises(ValueError):
            chunked([1], None, strict=True)
        self.assertEqual(list(chunked([1, 2], 2, strict=True)), [[1, 2]])
        self.assertEqual(list(sliced("abcd", 2, strict=True)), ["ab", "cd"])

    def test_lazy(self):
        seen = []
        chunks = chunked((seen.append(i) or i for i in range(4)), 2, strict=True)
        self.assertEqual(seen, [])
        self.assertEqual(next(chunks), [0, 1])
        self.assertEqual(seen, [0, 1])

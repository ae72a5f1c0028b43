import inspect

from pyflakes import checker, messages as m
from pyflakes.test.harness import TestCase


class Counting(TestCase):
    def test_own_function_is_gone(self):
        self.assertFalse(hasattr(checker, "counter"))
        self.assertNotIn("def counter(", inspect.getsource(checker))

    def test_both_places_use_the_library(self):
        source = inspect.getsource(checker.Checker.DICT)
        self.assertEqual(source.count("Counter("), 2)

    def test_literals(self):
        self.flakes("{'a': 1, 'a': 2}", m.MultiValueRepeatedKeyLiteral, m.MultiValueRepeatedKeyLiteral)
        self.flakes("{'a': 1, 'a': 1}")
        self.flakes("{'a': 1, 'b': 1}")

    def test_three_times(self):
        self.flakes("{'a': 1, 'a': 1, 'a': 2}", *[m.MultiValueRepeatedKeyLiteral] * 3)
        self.flakes("{'a': 1, 'a': 1, 'a': 2, 'a': 2}")

    def test_variables(self):
        self.flakes("a = 1\n{a: 1, a: 2}", m.MultiValueRepeatedKeyVariable, m.MultiValueRepeatedKeyVariable)
        self.flakes("a = 1\n{a: 1, a: 1}")

    def test_what_is_not_compared(self):
        self.flakes("def f(x): return x\n{f(1): 1, f(1): 2}")

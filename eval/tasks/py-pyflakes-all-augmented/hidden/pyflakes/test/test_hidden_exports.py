from pyflakes import messages as m
from pyflakes.test.harness import TestCase


class Exports(TestCase):
    def test_added(self):
        self.flakes("import foo, bar\n__all__ = ['foo']\n__all__ += ['bar']\n")
        self.flakes("import a, b, c\n__all__ = ('a',)\n__all__ += ('b',)\n__all__ += ['c'] + []\n")

    def test_replaced(self):
        self.flakes("import foo, bar\n__all__ = ['foo']\n__all__ = ['bar']\n", m.UnusedImport)

    def test_unknown_names_are_told(self):
        self.flakes("__all__ = ['foo']\n__all__ += ['bar']\n", m.UndefinedExport, m.UndefinedExport)

    def test_concatenated(self):
        self.flakes("import a, b, c\n__all__ = ['a'] + ['b'] + ['c']\n")

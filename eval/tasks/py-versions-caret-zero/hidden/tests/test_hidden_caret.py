import unittest

from versions import Range, Version


class Caret(unittest.TestCase):
    def fits(self, text, *versions):
        return [version for version in versions if Version.parse(version) in Range.parse(text)]

    def test_zero_major(self):
        self.assertEqual(self.fits("^0.3", "0.2.9", "0.3.0", "0.3.9", "0.4.0", "1.0.0"), ["0.3.0", "0.3.9"])
        self.assertEqual(self.fits("^0.3.1", "0.3.0", "0.3.1", "0.4.0"), ["0.3.1"])

    def test_zero_minor(self):
        self.assertEqual(self.fits("^0.0.2", "0.0.1", "0.0.2", "0.0.3", "0.1.0"), ["0.0.2"])

    def test_nothing_but_zeros(self):
        self.assertEqual(self.fits("^0", "0.0.1", "0.9.0", "1.0.0"), ["0.0.1", "0.9.0"])
        self.assertEqual(self.fits("^0.0", "0.0.1", "0.0.9", "0.1.0"), ["0.0.1", "0.0.9"])

    def test_the_usual(self):
        self.assertEqual(self.fits("^1.2.3", "1.2.2", "1.2.3", "1.9.0", "2.0.0"), ["1.2.3", "1.9.0"])

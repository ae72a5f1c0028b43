import unittest

from versions import Range, Version, VersionError


class Ranges(unittest.TestCase):
    def fits(self, text, *versions):
        return [version for version in versions if Version.parse(version) in Range.parse(text)]

    def test_comparisons(self):
        self.assertEqual(self.fits(">=1.2 <2", "1.1.9", "1.2.0", "1.9.9", "2.0.0"), ["1.2.0", "1.9.9"])

    def test_bare(self):
        self.assertEqual(self.fits("1.2", "1.2.0", "1.2.9", "1.3.0"), ["1.2.0", "1.2.9"])
        self.assertEqual(self.fits("1.2.3", "1.2.3", "1.2.4"), ["1.2.3"])

    def test_caret_and_tilde(self):
        self.assertEqual(self.fits("^1.2", "1.1.0", "1.2.0", "1.99.0", "2.0.0"), ["1.2.0", "1.99.0"])
        self.assertEqual(self.fits("~1.2.3", "1.2.2", "1.2.9", "1.3.0"), ["1.2.9"])

    def test_alternatives(self):
        self.assertEqual(self.fits("^1 || ^3", "1.5.0", "2.0.0", "3.0.0"), ["1.5.0", "3.0.0"])

    def test_best(self):
        versions = [Version.parse(text) for text in ("1.0.0", "1.4.0", "2.0.0")]
        self.assertEqual(str(Range.parse("^1").best(versions)), "1.4.0")
        self.assertIsNone(Range.parse("^5").best(versions))

    def test_refused(self):
        for text in ("", "^", "1.x", "1 ||", ">>1"):
            with self.assertRaises(VersionError, msg=text):
                Range.parse(text)

import unittest

from versions import Version


class Bump(unittest.TestCase):
    def check(self, text, part, wanted):
        version = Version.parse(text)
        self.assertEqual(str(version.bump(part)), wanted)
        self.assertEqual(str(version), text)

    def test_counts(self):
        self.check("1.2.3", "major", "2.0.0")
        self.check("1.2.3", "minor", "1.3.0")
        self.check("1.2.3", "patch", "1.2.4")

    def test_previews(self):
        self.check("2.0.0-rc.1", "major", "2.0.0")
        self.check("2.1.0-rc.1", "major", "3.0.0")
        self.check("1.3.0-a", "minor", "1.3.0")
        self.check("1.3.1-a", "minor", "1.4.0")
        self.check("1.2.4-a", "patch", "1.2.4")
        self.check("2.0.0-a", "minor", "2.0.0")

    def test_build_is_dropped(self):
        self.check("1.2.3+b7", "patch", "1.2.4")

    def test_other_words(self):
        with self.assertRaises(ValueError):
            Version.parse("1.2.3").bump("build")

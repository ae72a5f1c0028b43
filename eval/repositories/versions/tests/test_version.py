import unittest

from versions import Version, VersionError

ORDER = ["1.0.0-alpha", "1.0.0-alpha.1", "1.0.0-alpha.beta", "1.0.0-beta.2", "1.0.0-beta.11", "1.0.0-rc.1", "1.0.0", "1.0.1", "1.10.0", "2.0.0"]


class VersionTests(unittest.TestCase):
    def test_text(self):
        for text in ("1.2.3", "1.2.3-rc.1", "1.2.3+b7", "0.0.1-a.b+c.d"):
            self.assertEqual(str(Version.parse(text)), text)

    def test_order(self):
        versions = [Version.parse(text) for text in ORDER]
        self.assertEqual(sorted(reversed(versions)), versions)

    def test_builds_are_equal(self):
        self.assertEqual(Version.parse("1.0.0+a"), Version.parse("1.0.0+b"))
        self.assertEqual(len({Version.parse("1.0.0+a"), Version.parse("1.0.0")}), 1)

    def test_refused(self):
        for text in ("1.2", "1.2.3.4", "01.2.3", "1.2.3-", "a.b.c", ""):
            with self.assertRaises(VersionError, msg=text):
                Version.parse(text)

import unittest

from versions import Range, Version


def best(text, *versions, **options):
    found = Range.parse(text).best([Version.parse(version) for version in versions], **options)
    return None if found is None else str(found)


class Best(unittest.TestCase):
    VERSIONS = ("1.3.0", "1.4.0", "1.5.0-rc.1")

    def test_as_before(self):
        self.assertEqual(best("^1", *self.VERSIONS), "1.5.0-rc.1")
        self.assertEqual(best("^1", *self.VERSIONS, previews=True), "1.5.0-rc.1")
        self.assertIsNone(best("^5", *self.VERSIONS))

    def test_without_previews(self):
        self.assertEqual(best("^1", *self.VERSIONS, previews=False), "1.4.0")

    def test_second_parameter(self):
        versions = [Version.parse(text) for text in self.VERSIONS]
        self.assertEqual(str(Range.parse("^1").best(versions, False)), "1.4.0")

    def test_nothing_left(self):
        self.assertIsNone(best(">1.4.0", *self.VERSIONS, previews=False))
        self.assertIsNone(best("^2", "2.1.0-a", "2.1.0-b", previews=False))
        self.assertIsNone(best("^1", previews=False))

    def test_builds_are_no_previews(self):
        self.assertEqual(best("^1", "1.3.0", "1.4.0+b7", previews=False), "1.4.0+b7")

    def test_range_still_counts(self):
        self.assertEqual(best("^1", "1.3.0", "2.0.0", previews=False), "1.3.0")

    def test_any_iterable(self):
        versions = (Version.parse(text) for text in self.VERSIONS)
        self.assertEqual(str(Range.parse("^1").best(versions, previews=False)), "1.4.0")

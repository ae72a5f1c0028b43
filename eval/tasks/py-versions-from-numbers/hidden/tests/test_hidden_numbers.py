import inspect
import unittest
from unittest import mock

from versions import Range, Version, ranges


class Numbers(unittest.TestCase):
    def test_missing_ones_are_zero(self):
        for numbers, text in (([1], "1.0.0"), ([1, 2], "1.2.0"), ([1, 2, 3], "1.2.3"), ([0], "0.0.0"), ([0, 0, 7], "0.0.7")):
            found = Version.from_numbers(numbers)
            self.assertIsInstance(found, Version)
            self.assertEqual(str(found), text)

    def test_list_stays(self):
        numbers = [1, 2]
        Version.from_numbers(numbers)
        self.assertEqual(numbers, [1, 2])

    def test_both_use_it(self):
        wanted = Version(9, 8, 7)
        with mock.patch.object(Version, "from_numbers", return_value=wanted):
            self.assertEqual(ranges._rules(">=1.2"), [(">=", wanted)])
            self.assertIs(ranges._next([1, 2]), wanted)

    def test_formula_is_gone(self):
        self.assertNotIn("[0, 0]", inspect.getsource(ranges))

    def test_ranges_stay(self):
        def fits(text, *versions):
            return [version for version in versions if Version.parse(version) in Range.parse(text)]

        self.assertEqual(fits("1.2", "1.1.9", "1.2.0", "1.2.9", "1.3.0"), ["1.2.0", "1.2.9"])
        self.assertEqual(fits("^1", "0.9.0", "1.0.0", "1.9.9", "2.0.0"), ["1.0.0", "1.9.9"])
        self.assertEqual(fits("~1.2.3", "1.2.2", "1.2.3", "1.2.9", "1.3.0"), ["1.2.3", "1.2.9"])
        self.assertEqual(fits("<2", "1.9.9", "2.0.0"), ["1.9.9"])

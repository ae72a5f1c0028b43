import unittest

from split import parse_amount, split


class SplitTest(unittest.TestCase):
    def test_even(self):
        self.assertEqual(split(900, 3), [300, 300, 300])

    def test_no_cent_is_lost(self):
        self.assertEqual(sum(split(1000, 3)), 1000)
        self.assertLessEqual(max(split(1000, 3)) - min(split(1000, 3)), 1)


class ParseTest(unittest.TestCase):
    def test_whole(self):
        self.assertEqual(parse_amount("12"), 1200)

    def test_one_digit_after_the_point_is_tens_of_cents(self):
        self.assertEqual(parse_amount("€12.3"), 1230)


if __name__ == "__main__":
    unittest.main()

import unittest

from average import average, spread


class AverageTest(unittest.TestCase):
    def test_some(self):
        self.assertEqual(average([1, 2, 6]), 3)

    def test_none(self):
        self.assertEqual(average([]), 0)


class SpreadTest(unittest.TestCase):
    def test_some(self):
        self.assertEqual(spread([4, 1, 9]), 8)

    def test_none(self):
        self.assertEqual(spread([]), 0)


if __name__ == "__main__":
    unittest.main()

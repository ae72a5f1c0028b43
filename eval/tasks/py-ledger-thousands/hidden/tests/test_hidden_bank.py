import unittest

from ledger.money import cents


class Bank(unittest.TestCase):
    def test_thousands(self):
        for written, value in (("1,234.50", 123450), ("1,234", 123400), ("-12,345,678.9", -1234567890), ("1234.50", 123450), ("999", 99900)):
            self.assertEqual(cents(written), value, written)

    def test_brackets(self):
        for written, value in (("(12.50)", -1250), ("(1,234.50)", -123450), (" (7) ", -700)):
            self.assertEqual(cents(written), value, written)

    def test_refused(self):
        for written in ("1,23", "12,34.00", ",100", "(-5)", "(5", "5)", "()", "1,2345", "1234,567", "(+5)", "1,234,5"):
            with self.assertRaises(ValueError, msg=written):
                cents(written)

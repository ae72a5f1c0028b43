import unittest

from ledger.money import cents, text


class Money(unittest.TestCase):
    def test_cents(self):
        for written, value in (("12.50", 1250), ("-12.50", -1250), ("7", 700), ("0.5", 50), ("+1.05", 105), ("-0.05", -5)):
            self.assertEqual(cents(written), value, written)

    def test_text(self):
        for value, written in ((1250, "12.50"), (-5, "-0.05"), (0, "0.00")):
            self.assertEqual(text(value), written)

    def test_refused(self):
        for written in ("", "a", "1.234", "1,5", "--1", "."):
            with self.assertRaises(ValueError, msg=written):
                cents(written)

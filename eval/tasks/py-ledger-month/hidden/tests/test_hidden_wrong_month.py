import io
import pathlib
import unittest

from ledger.__main__ import main

BOOKS = str(pathlib.Path(__file__).parent / "books.csv")


class Month(unittest.TestCase):
    def run_main(self, month):
        out = io.StringIO()
        return main(["month", BOOKS, month], out), out.getvalue()

    def test_wrong(self):
        for month in ("2024", "2024-13", "2024-3", "2024-00", "2024-03-01", "march", "24-03", "2024/03", "2024-", ""):
            self.assertEqual(self.run_main(month), (1, f"ledger: not a month: {month!r}\n"), month)

    def test_right(self):
        code, said = self.run_main("2024-04")
        self.assertEqual(code, 0)
        self.assertEqual([line.split()[0] for line in said.splitlines()], ["2024-04-02", "2024-04-03"])

    def test_right_without_entries(self):
        for month in ("2024-01", "2024-10", "2024-12"):
            self.assertEqual(self.run_main(month), (0, "\n"), month)

    def test_other_errors_stay(self):
        out = io.StringIO()
        self.assertEqual(main(["month", BOOKS + ".none", "2024-04"], out), 1)
        self.assertTrue(out.getvalue().startswith("ledger: "))
        self.assertNotIn("not a month", out.getvalue())

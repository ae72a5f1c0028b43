import io
import unittest

from ledger.entries import EntryError, read


class Notes(unittest.TestCase):
    def test_several_lines(self):
        entries = read(['2024-01-01,cash,1,"one\n', 'two"\n', "2024-01-02,bank,2,x\n"])
        self.assertEqual([(e.account, e.note) for e in entries], [("cash", "one\ntwo"), ("bank", "x")])

    def test_inside_a_note_all_stays(self):
        entries = read(io.StringIO('# top\n2024-01-01,cash,1,"one\n\n# two\nthree"\n\n# end\n', newline=""))
        self.assertEqual([e.note for e in entries], ["one\n\n# two\nthree"])

    def test_line_of_an_error(self):
        lines = ["# top\n", "\n", '2024-01-01,cash,1,"one\n', 'two"\n', "2024-01-02,bank,x\n"]
        with self.assertRaisesRegex(EntryError, "line 5"):
            read(lines)
        with self.assertRaisesRegex(EntryError, "line 2:"):
            read(["# top\n", '2024-01-01,cash,x,"one\n', 'two"\n'])

    def test_comment_with_a_quote(self):
        self.assertEqual(len(read(['# it is "open\n', "2024-01-01,cash,1\n"])), 1)

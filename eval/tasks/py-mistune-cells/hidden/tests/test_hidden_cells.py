from unittest import TestCase, mock

import mistune
from mistune.plugins import table


class Cells(TestCase):
    def test_makes_cells(self):
        self.assertEqual(
            list(table._make_cells(["a "], ["left"], True)),
            [{"type": "table_cell", "text": "a", "attrs": {"align": "left", "head": True}}],
        )
        self.assertEqual(
            list(table._make_cells([" x", "y"], [None, "right"], False)),
            [
                {"type": "table_cell", "text": "x", "attrs": {"align": None, "head": False}},
                {"type": "table_cell", "text": "y", "attrs": {"align": "right", "head": False}},
            ],
        )

    def test_both_use_it(self):
        heads = []

        def fake(texts, aligns, head):
            heads.append(head)
            return ["cells"]

        with mock.patch.object(table, "_make_cells", fake):
            thead, aligns = table._process_thead("a | b", ":-- | --:")
            row = table._process_row("1 | 2", aligns)
        self.assertEqual(heads, [True, False])
        self.assertEqual(thead, {"type": "table_head", "children": ["cells"]})
        self.assertEqual(row, {"type": "table_row", "children": ["cells"]})

    def test_same_results(self):
        md = mistune.create_markdown(plugins=["table"])
        self.assertEqual(
            md("| a | b |\n|:-:|---|\n| 1 | *2* |\n"),
            '<table>\n<thead>\n<tr>\n  <th style="text-align:center">a</th>\n  <th>b</th>\n</tr>\n</thead>\n'
            '<tbody>\n<tr>\n  <td style="text-align:center">1</td>\n  <td><em>2</em></td>\n</tr>\n</tbody>\n</table>\n',
        )

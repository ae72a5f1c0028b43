import unittest

from tinytemplate import Template, TemplateError


def render(text, **names):
    return Template(text).render(**names)


class Remarks(unittest.TestCase):
    def test_left_out(self):
        self.assertEqual(render("a{# not shown #}b"), "ab")
        self.assertEqual(render("Hello {# who? #}{{ name }}!", name="you"), "Hello you!")
        self.assertEqual(render("{# all #}"), "")

    def test_several_lines(self):
        self.assertEqual(render("a{# one\ntwo #}b"), "ab")

    def test_nothing_inside_is_looked_at(self):
        self.assertEqual(render("a{# {{ missing }} {% end %} #}b"), "ab")
        self.assertEqual(render("a{# {% if x %} #}b"), "ab")

    def test_several(self):
        self.assertEqual(render("{# 1 #}a{# 2 #}b{# 3 #}"), "ab")

    def test_blanks_stay(self):
        self.assertEqual(render("a {# x #} b\n{# y #}\nc"), "a  b\n\nc")

    def test_in_blocks(self):
        self.assertEqual(render("{% for x in xs %}{# each #}[{{ x }}]{% end %}", xs=[1, 2]), "[1][2]")
        self.assertEqual(render("{% if n %}yes{# or #}{% else %}{# not #}no{% end %}", n=0), "no")

    def test_the_rest_stays(self):
        self.assertEqual(render("# {{ x|upper }} #", x="a"), "# A #")
        with self.assertRaises(TemplateError):
            render("{# x #}{{ missing }}")

import unittest
from types import SimpleNamespace

from tinytemplate import Template, TemplateError


def render(text, **names):
    return Template(text).render(**names)


class Values(unittest.TestCase):
    def test_value_and_filters(self):
        self.assertEqual(render("Hello {{ name|upper }}!", name="you"), "Hello YOU!")
        self.assertEqual(render("{{ x|escape }}", x="<a>"), "&lt;a&gt;")
        self.assertEqual(Template("{{ x|twice }}", {"twice": lambda x: x * 2}).render(x=4), "8")

    def test_dots(self):
        self.assertEqual(render("{{ a.b.c }}", a={"b": SimpleNamespace(c=3)}), "3")

    def test_missing(self):
        for text in ("{{ b }}", "{{ a.b }}", "{{ a|none }}"):
            with self.assertRaises(TemplateError, msg=text):
                render(text, a=1)


class Blocks(unittest.TestCase):
    def test_for(self):
        self.assertEqual(render("{% for x in xs %}[{{ x }}]{% end %}", xs=[1, 2]), "[1][2]")
        self.assertEqual(render("{% for x in xs %}{% for y in x %}{{ y }}{% end %};{% end %}", xs=[[1, 2], [3]]), "12;3;")

    def test_if(self):
        text = "{% if n %}{{ n }} found{% else %}nothing{% end %}"
        self.assertEqual(render(text, n=2), "2 found")
        self.assertEqual(render(text, n=0), "nothing")

    def test_wrong(self):
        for text in ("{% for x in xs %}", "{% end %}", "{% for x of xs %}{% end %}", "{% if a %}{% else %}", "{% while x %}{% end %}"):
            with self.assertRaises(TemplateError, msg=text):
                Template(text)

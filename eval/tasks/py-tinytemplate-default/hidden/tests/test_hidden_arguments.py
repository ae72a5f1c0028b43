import unittest

from tinytemplate import Template, TemplateError


def render(text, **names):
    return Template(text, {"cut": lambda value, length: value[:length], "join": lambda value, by: by.join(value)}).render(**names)


class Arguments(unittest.TestCase):
    def test_arguments(self):
        self.assertEqual(render("{{ x|cut:2 }}", x="abc"), "ab")
        self.assertEqual(render("{{ x|cut:-1|upper }}", x="abc"), "AB")
        self.assertEqual(render('{{ x|join:", " }}', x=["a", "b"]), "a, b")
        self.assertEqual(render('{{ x|join:" | "|upper }}', x=["a", "b"]), "A | B")
        self.assertEqual(render('{{ x | join:":" }}', x=["a", "b"]), "a:b")

    def test_default(self):
        self.assertEqual(render('{{ x|default:"no title" }}', x=""), "no title")
        self.assertEqual(render('{{ x|default:"no" }}', x=None), "no")
        self.assertEqual(render('{{ x|default:"no" }}', x=0), "0")
        self.assertEqual(render('{{ x|default:"no"|upper }}'), "NO")
        self.assertEqual(render("{{ x.y.z|default:7 }}", x={}), "7")
        self.assertEqual(render('{{ x|default:"no" }}', x="yes"), "yes")

    def test_missing_stays_an_error(self):
        with self.assertRaises(TemplateError):
            render('{{ x|upper|default:"no" }}')
        with self.assertRaises(TemplateError):
            render("{{ x.y }}", x={})

    def test_wrong_argument(self):
        for text in ("{{ x|cut:two }}", "{{ x|cut: }}", '{{ x|cut:"open }}', "{{ x|cut:1.5 }}"):
            with self.assertRaises(TemplateError, msg=text):
                Template(text)

    def test_without_argument(self):
        self.assertEqual(render("{{ x|upper|length }}", x="abc"), "3")

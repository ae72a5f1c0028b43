import inspect
import unittest

from tinytemplate import Template, TemplateError, template
from tinytemplate.nodes import For, Text, Value
from tinytemplate.parser import parse


class Parser(unittest.TestCase):
    def test_parse(self):
        nodes = parse("a{{ b }}{% for x in xs %}c{% end %}")
        self.assertEqual([type(node) for node in nodes], [Text, Value, For])
        self.assertEqual([type(node) for node in nodes[2].body], [Text])
        self.assertEqual(parse(""), [])

    def test_errors(self):
        for text in ("{% for x in xs %}", "{% end %}", "{% else %}", "{% if a %}{% else %}", "{% what %}"):
            with self.assertRaises(TemplateError, msg=text):
                parse(text)
            with self.assertRaises(TemplateError, msg=text):
                Template(text)

    def test_template_keeps_nothing_of_it(self):
        made = Template("{% if a %}x{% else %}y{% end %}")
        self.assertEqual(set(vars(made)), {"filters", "nodes"})
        self.assertEqual(made.render(a=0), "y")
        self.assertEqual(made.render(a=1), "x")
        self.assertFalse({"_body", "_block"} & set(vars(Template)))

    def test_imports(self):
        source = inspect.getsource(template)
        self.assertNotIn("lexer", source)
        self.assertNotIn("nodes import", source)

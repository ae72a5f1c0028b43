import unittest

from tinytemplate import Template, TemplateError


def render(text, **names):
    return Template(text).render(**names)


class Scope(unittest.TestCase):
    def test_outer_value_is_back(self):
        self.assertEqual(render("{% for x in xs %}{{ x }}{% end %}{{ x }}", xs=[1, 2], x="o"), "12o")

    def test_gone_after_the_loop(self):
        with self.assertRaises(TemplateError):
            render("{% for x in xs %}{{ x }}{% end %}{{ x }}", xs=[1, 2])

    def test_same_name_inside(self):
        text = "{% for x in xs %}{% for x in x %}{{ x }}{% end %}={{ x|length }};{% end %}"
        self.assertEqual(render(text, xs=["ab", "cde"]), "ab=2;cde=3;")

    def test_loop_over_its_own_name(self):
        self.assertEqual(render("{% for x in x %}{{ x }}{% end %}{{ x|length }}", x="abc"), "abc3")

    def test_outer_names_inside(self):
        self.assertEqual(render("{% for x in xs %}{{ y }}{{ x }}{% end %}", xs=[1, 2], y="-"), "-1-2")

    def test_two_loops(self):
        self.assertEqual(render("{% for x in a %}{{ x }}{% end %}{% for x in b %}{{ x }}{% end %}", a=[1], b=[2]), "12")

    def test_dictionary_is_not_changed(self):
        template = Template("{% for x in xs %}{{ x }}{% end %}")
        names = {"xs": [1, 2]}
        out = []
        for node in template.nodes:
            node.render(names, template.filters, out)
        self.assertEqual(names, {"xs": [1, 2]})
        self.assertEqual("".join(out), "12")

from unittest import TestCase

from mistune import HTMLRenderer, create_markdown
from mistune.toc import add_toc_hook, render_toc_ul


class EscapedIds(TestCase):
    def test_heading(self):
        heading = HTMLRenderer().heading
        self.assertEqual(heading("Hi", 1, id='a"b'), '<h1 id="a&quot;b">Hi</h1>\n')
        self.assertEqual(heading("Hi", 2, id="a<b>&c"), '<h2 id="a&lt;b&gt;&amp;c">Hi</h2>\n')

    def test_toc(self):
        self.assertIn('<a href="#a&quot;b">Hi</a>', render_toc_ul([(1, 'a"b', "Hi")]))
        self.assertIn('<a href="#a&lt;b&gt;&amp;c">Hi</a>', render_toc_ul([(1, "a<b>&c", "Hi")]))

    def test_text_stays(self):
        self.assertEqual(HTMLRenderer().heading("<em>Hi</em>", 1, id="x"), '<h1 id="x"><em>Hi</em></h1>\n')
        self.assertIn('<a href="#x">a &amp; b</a>', render_toc_ul([(1, "x", "a &amp; b")]))

    def test_plain_ids_and_none(self):
        self.assertEqual(HTMLRenderer().heading("Hi", 3), "<h3>Hi</h3>\n")
        self.assertEqual(render_toc_ul([(1, "toc_1", "Hi")]), '<ul>\n<li><a href="#toc_1">Hi</a></li>\n</ul>\n')

    def test_all_together(self):
        md = create_markdown()
        add_toc_hook(md, heading_id=lambda token, index: '"' + token["text"])
        html, state = md.parse("# one")
        self.assertEqual(html, '<h1 id="&quot;one">one</h1>\n')
        self.assertIn('<a href="#&quot;one">one</a>', render_toc_ul(state.env["toc_items"]))

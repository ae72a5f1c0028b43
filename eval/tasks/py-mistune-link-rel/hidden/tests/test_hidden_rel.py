import mistune
from unittest import TestCase


def html(text, **options):
    return mistune.create_markdown(renderer=mistune.HTMLRenderer(**options))(text).strip()


class Rel(TestCase):
    def test_outside(self):
        self.assertEqual(html("[a](https://example.org/)", link_rel="nofollow noopener"),
                         '<p><a href="https://example.org/" rel="nofollow noopener">a</a></p>')
        for url in ("http://x.org", "//x.org", "HTTPS://x.org"):
            self.assertIn(' rel="nofollow"', html(f"[a]({url})", link_rel="nofollow"), url)

    def test_title_first(self):
        self.assertEqual(html('[a](http://x.org "t")', link_rel="nofollow"),
                         '<p><a href="http://x.org" title="t" rel="nofollow">a</a></p>')

    def test_inside(self):
        for url in ("/here", "#there", "page.html", "mailto:a@b.org", "httpd.html"):
            self.assertNotIn("rel=", html(f"[a]({url})", link_rel="nofollow"), url)

    def test_images_and_default(self):
        self.assertNotIn("rel=", html("![a](http://x.org/i.png)", link_rel="nofollow"))
        self.assertNotIn("rel=", html("[a](http://x.org)"))

    def test_escaped(self):
        self.assertIn('rel="&quot;&gt;"', html("[a](http://x.org)", link_rel='">'))

import mistune
from unittest import TestCase


class Labels(TestCase):
    def test_folding(self):
        self.assertEqual(mistune.html("[\u1e9e]\n\n[SS]: /url").strip(), '<p><a href="/url">\u1e9e</a></p>')
        self.assertEqual(mistune.html("[stra\u00dfe]\n\n[STRASSE]: /url").strip(), '<p><a href="/url">stra\u00dfe</a></p>')

    def test_blanks(self):
        self.assertEqual(mistune.html("[a\n b]\n\n[A   B]: /url").strip(), '<p><a href="/url">a\nb</a></p>')

    def test_key(self):
        self.assertEqual(mistune.unikey("Stra\u00dfe"), mistune.unikey("STRASSE"))
        self.assertNotEqual(mistune.unikey("a b"), mistune.unikey("ab"))

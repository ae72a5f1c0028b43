"""From pieces to nodes to text."""

from .errors import TemplateError
from .filters import FILTERS
from .lexer import pieces
from .nodes import For, If, Text, Value


class Template:
    def __init__(self, text, filters=None):
        self.filters = {**FILTERS, **(filters or {})}
        self._pieces = pieces(text)
        self._at = 0
        self.nodes, end = self._body()
        if end:
            raise TemplateError(f"{end!r} without a beginning")

    def render(self, **names):
        out = []
        for node in self.nodes:
            node.render(names, self.filters, out)
        return "".join(out)

    def _body(self):
        """Nodes up to an `end` or `else`, and that word."""
        nodes = []
        while self._at < len(self._pieces):
            kind, words = self._pieces[self._at]
            self._at += 1
            if kind == "text":
                nodes.append(Text(words))
            elif kind == "value":
                nodes.append(Value(words))
            elif words in ("end", "else"):
                return nodes, words
            else:
                nodes.append(self._block(words))
        return nodes, None

    def _block(self, words):
        parts = words.split()
        if len(parts) == 4 and parts[0] == "for" and parts[2] == "in":
            body, end = self._body()
            if end != "end":
                raise TemplateError(f"{words!r} has no end")
            return For(parts[1], parts[3], body)
        if len(parts) == 2 and parts[0] == "if":
            body, end = self._body()
            otherwise = []
            if end == "else":
                otherwise, end = self._body()
            if end != "end":
                raise TemplateError(f"{words!r} has no end")
            return If(parts[1], body, otherwise)
        raise TemplateError(f"unknown tag: {words!r}")

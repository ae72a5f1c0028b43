"""A template's text in pieces."""

import re

PIECE = re.compile(r"({{.*?}}|{%.*?%})", re.DOTALL)


def pieces(text):
    """("text", …), ("value", …) and ("tag", …) in order."""
    out = []
    for part in PIECE.split(text):
        if part.startswith("{{"):
            out.append(("value", part[2:-2].strip()))
        elif part.startswith("{%"):
            out.append(("tag", part[2:-2].strip()))
        elif part:
            out.append(("text", part))
    return out

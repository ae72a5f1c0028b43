"""Functions that may stand after a bar."""

import html

FILTERS = {
    "upper": lambda value: str(value).upper(),
    "lower": lambda value: str(value).lower(),
    "title": lambda value: str(value).title(),
    "length": len,
    "escape": lambda value: html.escape(str(value)),
}

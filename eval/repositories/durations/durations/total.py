"""Sums over several durations."""

from .parse import parse


def calc(texts):
    """Seconds of all the durations together."""
    return sum(parse(text) for text in texts)

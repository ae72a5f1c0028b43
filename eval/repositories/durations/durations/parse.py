"""From text to seconds."""

import re

from .units import SECONDS

PART = re.compile(r"\s*(\d+)\s*([a-z])", re.IGNORECASE)


class DurationError(ValueError):
    """The text is no duration."""


def parse(text):
    """Seconds in a text such as "1h 30m"."""
    total = 0
    at = 0
    while at < len(text.rstrip()):
        found = PART.match(text, at)
        if not found:
            raise DurationError(f"not a duration: {text!r}")
        number, unit = found.groups()
        if unit.lower() not in SECONDS:
            raise DurationError(f"unknown unit {unit!r} in {text!r}")
        total += int(number) * SECONDS[unit.lower()]
        at = found.end()
    if at == 0:
        raise DurationError("an empty duration")
    return total

"""From seconds to text."""

from .units import SECONDS


def show(seconds):
    """The shortest exact text for a number of seconds."""
    if seconds < 0:
        return "-" + show(-seconds)
    parts = []
    for unit, size in SECONDS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts) or "0s"

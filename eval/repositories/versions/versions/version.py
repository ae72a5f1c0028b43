"""One version."""

import re
from functools import total_ordering

PATTERN = re.compile(
    r"(?P<major>0|[1-9]\d*)\.(?P<minor>0|[1-9]\d*)\.(?P<patch>0|[1-9]\d*)"
    r"(?:-(?P<pre>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
    r"(?:\+(?P<build>[0-9A-Za-z-]+(?:\.[0-9A-Za-z-]+)*))?"
)


class VersionError(ValueError):
    """The text is no version, or no range."""


@total_ordering
class Version:
    def __init__(self, major, minor, patch, pre=(), build=()):
        self.major = major
        self.minor = minor
        self.patch = patch
        self.pre = tuple(pre)
        self.build = tuple(build)

    @classmethod
    def parse(cls, text):
        found = PATTERN.fullmatch(text.strip())
        if not found:
            raise VersionError(f"not a version: {text!r}")
        numbers = [int(found[name]) for name in ("major", "minor", "patch")]
        pre, build = (found[name].split(".") if found[name] else () for name in ("pre", "build"))
        return cls(*numbers, pre, build)

    def __str__(self):
        text = f"{self.major}.{self.minor}.{self.patch}"
        if self.pre:
            text += "-" + ".".join(self.pre)
        if self.build:
            text += "+" + ".".join(self.build)
        return text

    def __repr__(self):
        return f"Version({str(self)!r})"

    def _key(self):
        # What is released comes after its own previews; numbers come before words.
        pre = tuple((0, int(part), "") if part.isdigit() else (1, 0, part) for part in self.pre)
        return (self.major, self.minor, self.patch, not self.pre, pre)

    def __eq__(self, other):
        if not isinstance(other, Version):
            return NotImplemented
        return self._key() == other._key()

    def __lt__(self, other):
        if not isinstance(other, Version):
            return NotImplemented
        return self._key() < other._key()

    def __hash__(self):
        return hash(self._key())

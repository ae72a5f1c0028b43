"""The words of a range."""

import re

from .version import VersionError

WORD = re.compile(r"(>=|<=|>|<|\^|~|=|)(\d+(?:\.\d+){0,2})")


def split_operator(word):
    """("^", [1, 2]) for "^1.2"; the operator of a bare version is "=". """
    found = WORD.fullmatch(word)
    if not found:
        raise VersionError(f"not part of a range: {word!r}")
    return found[1] or "=", [int(number) for number in found[2].split(".")]

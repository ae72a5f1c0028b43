"""Which versions are wanted."""

from .version import Version, VersionError
from .words import split_operator


class Range:
    """Alternatives, each a list of (operator, version)."""

    def __init__(self, alternatives, text=""):
        self.alternatives = alternatives
        self.text = text

    @classmethod
    def parse(cls, text):
        alternatives = []
        for part in text.split("||"):
            words = part.split()
            if not words:
                raise VersionError(f"an empty range in {text!r}")
            rules = []
            for word in words:
                rules.extend(_rules(word))
            alternatives.append(rules)
        return cls(alternatives, text.strip())

    def __contains__(self, version):
        return any(all(_holds(version, rule) for rule in rules) for rules in self.alternatives)

    def __str__(self):
        return self.text

    def best(self, versions):
        """The highest that fits, or None."""
        return max((version for version in versions if version in self), default=None)


def _rules(word):
    operator, numbers = split_operator(word)
    lowest = Version(*(numbers + [0, 0])[:3])
    if operator in (">=", "<", ">", "<="):
        return [(operator, lowest)]
    if operator == "^":
        return [(">=", lowest), ("<", _after_caret(numbers))]
    if operator == "~":
        return [(">=", lowest), ("<", _next(numbers[:2]))]
    return [(">=", lowest), ("<", _next(numbers))]


def _next(numbers):
    """The first version after all that begin with these numbers."""
    raised = numbers[:-1] + [numbers[-1] + 1]
    return Version(*(raised + [0, 0])[:3])


def _after_caret(numbers):
    for index, number in enumerate(numbers):
        if number:
            return _next(numbers[: index + 1])
    return _next(numbers)


def _holds(version, rule):
    operator, wanted = rule
    if operator == ">=":
        return version >= wanted
    if operator == ">":
        return version > wanted
    if operator == "<=":
        return version <= wanted
    return version < wanted

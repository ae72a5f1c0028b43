"""Amounts of money, as whole cents."""

import re

AMOUNT = re.compile(r"([+-]?)(\d+)(?:\.(\d{1,2}))?")


def cents(text):
    """-1250 for "-12.50"."""
    found = AMOUNT.fullmatch(text.strip())
    if not found:
        raise ValueError(f"not an amount: {text!r}")
    sign, whole, part = found.groups()
    value = int(whole) * 100 + int((part or "0").ljust(2, "0"))
    return -value if sign == "-" else value


def text(cents):
    """"-12.50" for -1250."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02d}"

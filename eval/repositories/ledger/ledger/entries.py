"""Entries, as they stand in a file."""

import csv
from dataclasses import dataclass
from datetime import date

from .money import cents


class EntryError(ValueError):
    """A line can't be read; the message says which."""


@dataclass(frozen=True)
class Entry:
    day: date
    account: str
    cents: int
    note: str = ""


def read(lines):
    """Entries of the lines of a file; empty lines and lines that begin with # are left out."""
    out = []
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        row = next(csv.reader([line]))
        if len(row) not in (3, 4):
            raise EntryError(f"line {number}: {len(row)} columns")
        try:
            day = date.fromisoformat(row[0].strip())
            amount = cents(row[2])
        except ValueError as why:
            raise EntryError(f"line {number}: {why}") from None
        account = row[1].strip()
        if not account:
            raise EntryError(f"line {number}: no account")
        out.append(Entry(day, account, amount, row[3].strip() if len(row) == 4 else ""))
    return out


def load(path):
    with open(path, encoding="utf-8", newline="") as file:
        return read(file)

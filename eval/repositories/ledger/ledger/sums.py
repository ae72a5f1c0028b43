"""Sums over entries."""


def balances(entries):
    """A dictionary from account to cents."""
    out = {}
    for entry in entries:
        out[entry.account] = out.get(entry.account, 0) + entry.cents
    return out


def of_month(entries, year, month):
    """The entries of one month."""
    return [entry for entry in entries if (entry.day.year, entry.day.month) == (year, month)]


def running(entries, account):
    """(entry, balance after it) for each entry of an account, in the order of days."""
    total = 0
    out = []
    for entry in sorted(entries, key=lambda entry: entry.day):
        if entry.account == account:
            total += entry.cents
            out.append((entry, total))
    return out

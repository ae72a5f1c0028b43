"""Tables for people."""

from .money import text as money


def balance_table(balances):
    width = max([len(name) for name in balances] + [5])
    lines = [f"{name:<{width}}{money(value):>12}" for name, value in sorted(balances.items())]
    lines.append(f"{'total':<{width}}{money(sum(balances.values())):>12}")
    return "\n".join(lines)


def entry_table(entries):
    return "\n".join(
        f"{entry.day}  {entry.account:<15}{money(entry.cents):>12}  {entry.note}".rstrip()
        for entry in sorted(entries, key=lambda entry: entry.day)
    )

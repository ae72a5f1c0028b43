"""Text for people."""

from .pricing import stock_value


def table(shelf):
    """One line for each item, and the sum."""
    lines = []
    for item in shelf:
        price = f"{item.cents // 100}.{item.cents % 100:02d}"
        mark = " !" if item.is_low() else ""
        lines.append(f"{item.name:<20}{item.count:>6}{price:>10}{mark}")
    value = stock_value(shelf)
    total = f"{value // 100}.{value % 100:02d}"
    lines.append(f"{'total':<20}{'':>6}{total:>10}")
    return "\n".join(lines)


def shopping_list(shelf, goal=20):
    """What to buy so that there are `goal` of everything that runs low."""
    lines = []
    for item in shelf.low():
        missing = goal - item.count
        cost = item.cents * missing
        lines.append(f"{missing} x {item.name} ({cost // 100}.{cost % 100:02d})")
    return "\n".join(lines)

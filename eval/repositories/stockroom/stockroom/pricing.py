"""Discounts and totals, in whole cents."""

#: From this many pieces on, this many per cent are taken off.
DISCOUNTS = [(100, 15), (50, 10), (10, 5)]


def discount(count):
    """Per cent off for a number of pieces."""
    for least, percent in DISCOUNTS:
        if count >= least:
            return percent
    return 0


def line_total(item, count):
    """What a number of pieces costs, rounded down to a cent."""
    full = item.cents * count
    return full - full * discount(count) // 100


def stock_value(shelf):
    """What everything is worth, without discounts."""
    return sum(item.cents * item.count for item in shelf)

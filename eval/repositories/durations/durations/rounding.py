"""Rounding to the nearest whole unit."""


def whole_minutes(seconds):
    return (seconds + 30) // 60 * 60


def whole_hours(seconds):
    return (seconds + 1800) // 3600 * 3600

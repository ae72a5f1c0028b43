"""Durations as people write them."""

from .parse import DurationError, parse
from .show import show
from .total import calc

__all__ = ["DurationError", "calc", "parse", "show"]

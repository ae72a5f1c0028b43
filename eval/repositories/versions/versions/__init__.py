"""Semantic versions and ranges of them."""

from .ranges import Range
from .version import Version, VersionError

__all__ = ["Range", "Version", "VersionError"]

"""JSON files."""

import json
import os

from .items import Item
from .shelf import Shelf


def load(path):
    """The shelf in a file; an empty one when there is no file."""
    if not os.path.exists(path):
        return Shelf()
    with open(path, encoding="utf-8") as file:
        rows = json.load(file)
    return Shelf(Item(**row) for row in rows)


def save(path, shelf):
    """Writes the whole file anew, so that a crash leaves the old one."""
    rows = [{"name": i.name, "count": i.count, "cents": i.cents, "low": i.low} for i in shelf]
    beside = f"{path}.new"
    with open(beside, "w", encoding="utf-8") as file:
        json.dump(rows, file, indent=1)
    os.replace(beside, path)

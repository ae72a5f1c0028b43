"""One kind of thing on the shelf."""

from dataclasses import dataclass


@dataclass
class Item:
    name: str
    count: int
    cents: int = 0
    low: int = 5

    def __post_init__(self):
        if not self.name.strip():
            raise ValueError("an item needs a name")
        if self.count < 0:
            raise ValueError(f"{self.name}: a negative count")

    def is_low(self):
        return self.count < self.low

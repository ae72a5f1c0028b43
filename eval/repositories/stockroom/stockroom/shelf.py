"""Everything in stock."""

from .items import Item


class OutOfStock(Exception):
    """There is less than what was asked for."""


class Shelf:
    def __init__(self, items=()):
        self._items = {}
        for item in items:
            self._items[item.name] = item

    def __iter__(self):
        return iter(sorted(self._items.values(), key=lambda item: item.name))

    def __len__(self):
        return len(self._items)

    def find(self, name):
        try:
            return self._items[name]
        except KeyError:
            raise KeyError(f"nothing called {name!r}") from None

    def add(self, name, count, cents=None):
        """More of something; a new price replaces the old one."""
        if count <= 0:
            raise ValueError("count must be positive")
        item = self._items.get(name)
        if item is None:
            item = self._items[name] = Item(name, 0)
        item.count += count
        if cents is not None:
            item.cents = cents
        return item

    def take(self, name, count):
        """Less of something; raises OutOfStock and changes nothing when there isn't enough."""
        if count <= 0:
            raise ValueError("count must be positive")
        item = self.find(name)
        if item.count < count:
            raise OutOfStock(f"{name}: {item.count} left, {count} asked for")
        item.count -= count
        return item

    def low(self):
        return [item for item in self if item.is_low()]

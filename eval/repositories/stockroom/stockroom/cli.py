"""The command line."""

import argparse
import sys

from . import report, storage
from .shelf import OutOfStock


def parser():
    top = argparse.ArgumentParser(prog="stockroom")
    top.add_argument("--file", default="shelf.json")
    commands = top.add_subparsers(dest="command", required=True)
    add = commands.add_parser("add", help="put something on the shelf")
    add.add_argument("name")
    add.add_argument("count", type=int)
    add.add_argument("--price", type=float, help="in whole units of money")
    take = commands.add_parser("take", help="take something away")
    take.add_argument("name")
    take.add_argument("count", type=int)
    commands.add_parser("list", help="show everything")
    return top


def main(words=None, out=sys.stdout):
    wanted = parser().parse_args(words)
    shelf = storage.load(wanted.file)
    try:
        if wanted.command == "add":
            cents = None if wanted.price is None else round(wanted.price * 100)
            shelf.add(wanted.name, wanted.count, cents)
        elif wanted.command == "take":
            shelf.take(wanted.name, wanted.count)
        else:
            print(report.table(shelf), file=out)
            return 0
    except (KeyError, ValueError, OutOfStock) as why:
        print(f"stockroom: {why}", file=out)
        return 1
    storage.save(wanted.file, shelf)
    return 0


if __name__ == "__main__":
    sys.exit(main())

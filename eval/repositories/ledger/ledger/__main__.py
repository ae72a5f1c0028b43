"""The command line."""

import argparse
import sys

from . import entries, sums, text


def main(words=None, out=sys.stdout):
    parser = argparse.ArgumentParser(prog="ledger")
    commands = parser.add_subparsers(dest="command", required=True)
    balance = commands.add_parser("balance", help="what is in each account")
    balance.add_argument("file")
    month = commands.add_parser("month", help="the entries of a month")
    month.add_argument("file")
    month.add_argument("month", help="such as 2024-03")
    wanted = parser.parse_args(words)
    try:
        if wanted.command == "balance":
            loaded = entries.load(wanted.file)
            print(text.balance_table(sums.balances(loaded)), file=out)
        else:
            loaded = entries.load(wanted.file)
            year, number = (int(part) for part in wanted.month.split("-"))
            print(text.entry_table(sums.of_month(loaded, year, number)), file=out)
    except (OSError, ValueError) as why:
        print(f"ledger: {why}", file=out)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

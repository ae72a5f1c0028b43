"""python3 -m cronline LINE [--count N]"""

import argparse
import sys
from datetime import datetime

from . import CronError, Schedule


def main(words=None, now=None, out=sys.stdout):
    parser = argparse.ArgumentParser(prog="cronline")
    parser.add_argument("line")
    parser.add_argument("--count", type=int, default=1)
    wanted = parser.parse_args(words)
    try:
        for time in Schedule(wanted.line).runs(now or datetime.now(), wanted.count):
            print(time.strftime("%Y-%m-%d %H:%M"), file=out)
    except CronError as why:
        print(f"cronline: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

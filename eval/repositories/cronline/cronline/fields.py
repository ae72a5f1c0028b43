"""The five fields of a line."""


class CronError(ValueError):
    """The line can't be read."""


#: name, lowest, highest
FIELDS = [("minute", 0, 59), ("hour", 0, 23), ("day", 1, 31), ("month", 1, 12), ("weekday", 0, 7)]


def number(text, name, lowest, highest):
    if not text.isdigit():
        raise CronError(f"{name}: {text!r} is no number")
    value = int(text)
    if not lowest <= value <= highest:
        raise CronError(f"{name}: {value} is not between {lowest} and {highest}")
    return value


def field(text, name, lowest, highest):
    """The numbers that a field stands for."""
    out = set()
    for part in text.split(","):
        span, slash, step = part.partition("/")
        if slash:
            step = number(step, f"{name}'s step", 1, highest)
        else:
            step = 1
        if span == "*":
            first, last = lowest, highest
        elif "-" in span:
            first, last = (number(end, name, lowest, highest) for end in span.split("-", 1))
            if first > last:
                raise CronError(f"{name}: {span} runs backwards")
        else:
            first = number(span, name, lowest, highest)
            last = highest if slash else first
        out.update(range(first, last + 1, step))
    return out


def fields(line):
    """A dictionary from the name of each field to its numbers."""
    words = line.split()
    if len(words) != len(FIELDS):
        raise CronError(f"{len(words)} fields in {line!r}, {len(FIELDS)} are needed")
    out = {name: field(word, name, low, high) for word, (name, low, high) in zip(words, FIELDS)}
    if 7 in out["weekday"]:
        out["weekday"] = (out["weekday"] - {7}) | {0}
    return out

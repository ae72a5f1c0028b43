"""One line, asked for its times."""

from datetime import timedelta

from .fields import CronError, fields

#: A line that doesn't run within these days never does (29 February comes every eight years at worst).
DAYS = 366 * 8 + 1


class Schedule:
    def __init__(self, line):
        self.line = line
        self.fields = fields(line)
        words = line.split()
        self.any_day = words[2] == "*"
        self.any_weekday = words[4] == "*"

    def day_fits(self, date):
        if date.month not in self.fields["month"]:
            return False
        day = date.day in self.fields["day"]
        weekday = date.isoweekday() % 7 in self.fields["weekday"]
        if self.any_day or self.any_weekday:
            return day and weekday
        return day or weekday

    def nextrun(self, after):
        """The first time after this one."""
        start = after.replace(second=0, microsecond=0) + timedelta(minutes=1)
        date = start
        for _ in range(DAYS):
            if self.day_fits(date):
                for hour in sorted(self.fields["hour"]):
                    for minute in sorted(self.fields["minute"]):
                        time = date.replace(hour=hour, minute=minute)
                        if time >= start:
                            return time
            date = date + timedelta(days=1)
        raise CronError(f"{self.line} never runs")

    def runs(self, after, count):
        """The next `count` times."""
        out = []
        for _ in range(count):
            after = self.nextrun(after)
            out.append(after)
        return out

import io
import unittest
from datetime import datetime

from cronline import CronError, Schedule
from cronline.__main__ import main

NOW = datetime(2024, 1, 5, 12, 0, 30)   # a Friday


class Next(unittest.TestCase):
    def test_same_day(self):
        self.assertEqual(Schedule("30 14 * * *").nextrun(NOW), datetime(2024, 1, 5, 14, 30))

    def test_working_days(self):
        self.assertEqual(Schedule("30 4 * * 1-5").nextrun(NOW), datetime(2024, 1, 8, 4, 30))

    def test_never_now(self):
        self.assertEqual(Schedule("0 12 * * *").nextrun(datetime(2024, 1, 5, 12)), datetime(2024, 1, 6, 12))

    def test_never(self):
        with self.assertRaises(CronError):
            Schedule("0 0 30 2 *").nextrun(NOW)


class Runs(unittest.TestCase):
    def test_leap_day(self):
        times = Schedule("0 0 29 2 *").runs(NOW, 2)
        self.assertEqual(times, [datetime(2024, 2, 29), datetime(2028, 2, 29)])

    def test_one_of_both_days_is_enough(self):
        times = Schedule("0 0 13 * 1").runs(NOW, 3)
        self.assertEqual([time.day for time in times], [8, 13, 15])

    def test_command(self):
        out = io.StringIO()
        self.assertEqual(main(["*/20 9-17 * * *", "--count", "2"], NOW, out), 0)
        self.assertEqual(out.getvalue(), "2024-01-05 12:20\n2024-01-05 12:40\n")

import unittest
from datetime import datetime

from cronline import Schedule


class Morning(unittest.TestCase):
    def test_tomorrow(self):
        self.assertEqual(Schedule("0 6 * * *").nextrun(datetime(2024, 1, 5, 22)), datetime(2024, 1, 6, 6))
        self.assertEqual(Schedule("0 0 * * *").nextrun(datetime(2024, 1, 5, 23, 59, 59)), datetime(2024, 1, 6))

    def test_end_of_the_year(self):
        self.assertEqual(Schedule("5 0 * * *").nextrun(datetime(2023, 12, 31, 23, 58)), datetime(2024, 1, 1, 0, 5))

    def test_every_run_of_a_week(self):
        times = Schedule("15,45 1,23 * * *").runs(datetime(2024, 1, 1), 28)
        self.assertEqual(len({time.date() for time in times}), 7)
        self.assertEqual(times[-1], datetime(2024, 1, 7, 23, 45))

    def test_later_today(self):
        self.assertEqual(Schedule("0 6,23 * * *").nextrun(datetime(2024, 1, 5, 22)), datetime(2024, 1, 5, 23))

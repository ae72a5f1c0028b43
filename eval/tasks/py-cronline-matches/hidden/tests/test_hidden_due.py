import unittest
from datetime import datetime

from cronline import Schedule


class Due(unittest.TestCase):
    def test_working_days(self):
        line = Schedule("30 4 * * 1-5")
        self.assertIs(line.matches(datetime(2024, 1, 8, 4, 30)), True)
        self.assertIs(line.matches(datetime(2024, 1, 8, 4, 30, 59)), True)
        self.assertIs(line.matches(datetime(2024, 1, 8, 4, 31)), False)
        self.assertIs(line.matches(datetime(2024, 1, 6, 4, 30)), False)

    def test_seconds_do_not_count(self):
        self.assertIs(Schedule("0 12 * * *").matches(datetime(2024, 1, 5, 12, 0, 0, 1)), True)
        self.assertIs(Schedule("0 12 * * *").matches(datetime(2024, 1, 5, 11, 59, 59, 999999)), False)

    def test_each_field(self):
        line = Schedule("*/20 9-17 * 3 *")
        self.assertIs(line.matches(datetime(2024, 3, 5, 9, 40)), True)
        self.assertIs(line.matches(datetime(2024, 3, 5, 9, 50)), False)
        self.assertIs(line.matches(datetime(2024, 3, 5, 18, 40)), False)
        self.assertIs(line.matches(datetime(2024, 4, 5, 9, 40)), False)

    def test_one_of_both_days_is_enough(self):
        line = Schedule("0 0 13 * 1")
        self.assertIs(line.matches(datetime(2024, 1, 13)), True)
        self.assertIs(line.matches(datetime(2024, 1, 15)), True)
        self.assertIs(line.matches(datetime(2024, 1, 14)), False)

    def test_sunday_is_seven(self):
        self.assertIs(Schedule("* * * * 7").matches(datetime(2024, 1, 7, 3, 3)), True)

    def test_what_nextrun_gives_matches(self):
        line = Schedule("5,50 */6 29 2 *")
        for time in line.runs(datetime(2024, 1, 1), 10):
            self.assertIs(line.matches(time), True, time)

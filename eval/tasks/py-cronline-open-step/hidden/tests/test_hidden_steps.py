import unittest
from datetime import datetime

from cronline import CronError, Schedule
from cronline.fields import field


class Steps(unittest.TestCase):
    def test_from_a_number_on(self):
        self.assertEqual(field("50/5", "minute", 0, 59), {50, 55})
        self.assertEqual(field("8/6", "hour", 0, 23), {8, 14, 20})
        self.assertEqual(field("58/1", "minute", 0, 59), {58, 59})
        self.assertEqual(field("7/3", "month", 1, 12), {7, 10})

    def test_in_a_list(self):
        self.assertEqual(field("1,50/5", "minute", 0, 59), {1, 50, 55})

    def test_without_step(self):
        self.assertEqual(field("5", "minute", 0, 59), {5})
        self.assertEqual(field("1,7", "minute", 0, 59), {1, 7})

    def test_ranges_and_stars(self):
        self.assertEqual(field("10-50/20", "minute", 0, 59), {10, 30, 50})
        self.assertEqual(field("*/20", "minute", 0, 59), {0, 20, 40})

    def test_still_refused(self):
        for text in ("60/5", "5/0", "5/"):
            with self.assertRaises(CronError, msg=text):
                field(text, "minute", 0, 59)

    def test_schedule(self):
        times = Schedule("0 8/6 * * *").runs(datetime(2024, 1, 5), 3)
        self.assertEqual([time.hour for time in times], [8, 14, 20])

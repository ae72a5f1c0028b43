import unittest
from datetime import datetime

from cronline import CronError, Schedule
from cronline.fields import fields


class Names(unittest.TestCase):
    def test_months(self):
        self.assertEqual(fields("0 0 1 jan,JUL *")["month"], {1, 7})
        self.assertEqual(fields("0 0 1 oct-dec *")["month"], {10, 11, 12})
        self.assertEqual(fields("0 0 1 jan-dec/3 *")["month"], {1, 4, 7, 10})

    def test_days(self):
        self.assertEqual(fields("0 0 * * mon-Fri")["weekday"], {1, 2, 3, 4, 5})
        self.assertEqual(fields("0 0 * * sun")["weekday"], {0})
        self.assertEqual(fields("0 0 * * sat-sun")["weekday"], {6, 0})
        self.assertEqual(fields("0 0 * * sun-tue")["weekday"], {0, 1, 2})
        self.assertEqual(fields("0 0 * * 1,wed")["weekday"], {1, 3})

    def test_next(self):
        self.assertEqual(Schedule("0 9 * jul mon").nextrun(datetime(2024, 1, 5)), datetime(2024, 7, 1, 9))

    def test_refused(self):
        for line in ("mon * * * *", "* * jan * *", "* * * mon *", "* * * * jan", "* * * january *", "* * * * */tue", "* * * dec-jan *"):
            with self.assertRaises(CronError, msg=line):
                fields(line)

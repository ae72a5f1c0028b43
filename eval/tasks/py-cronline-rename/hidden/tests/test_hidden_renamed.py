import pathlib
import unittest
from datetime import datetime

import cronline
from cronline import Schedule

ROOT = pathlib.Path(cronline.__file__).parent.parent


class Renamed(unittest.TestCase):
    def test_new_names(self):
        schedule = Schedule("0 6 * * *")
        self.assertEqual(schedule.next_after(datetime(2024, 1, 5, 22)), datetime(2024, 1, 6, 6))
        self.assertEqual(schedule.upcoming(datetime(2024, 1, 5, 22), 2), [datetime(2024, 1, 6, 6), datetime(2024, 1, 7, 6)])

    def test_old_names_are_gone(self):
        self.assertFalse(hasattr(Schedule, "nextrun"))
        self.assertFalse(hasattr(Schedule, "runs"))
        self.assertNotIn("nextrun", (ROOT / "README.md").read_text())
        self.assertNotIn("nextrun", (ROOT / "cronline" / "schedule.py").read_text())

    def test_command(self):
        import io
        from cronline.__main__ import main
        out = io.StringIO()
        self.assertEqual(main(["0 6 * * *"], datetime(2024, 1, 5, 22), out), 0)
        self.assertEqual(out.getvalue(), "2024-01-06 06:00\n")

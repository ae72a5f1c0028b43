import contextlib
import io
import os
import tempfile
from unittest import TestCase

from pyflakes.api import checkRecursive, iterSourceCode, main
from pyflakes.reporter import Reporter


class Exclude(TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = folder.name
        for path in ("a.py", "a_pb2.py", "build/b.py", "src/c.py", "src/build/deep/d.py", "Build/e.py"):
            full = os.path.join(self.root, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w") as file:
                file.write("import os\n")

    def found(self, *exclude):
        return sorted(os.path.relpath(path, self.root) for path in iterSourceCode([self.root], exclude))

    def test_names_of_files_and_folders(self):
        self.assertEqual(self.found("build", "*_pb2.py"), ["Build/e.py", "a.py", "src/c.py"])
        self.assertEqual(self.found("[Bb]uild", "src"), ["a.py", "a_pb2.py"])

    def test_nothing_excluded(self):
        self.assertEqual(len(self.found()), 6)
        self.assertEqual(len(list(iterSourceCode([self.root]))), 6)

    def test_given_paths_are_checked(self):
        build = os.path.join(self.root, "build")
        self.assertEqual(list(iterSourceCode([build], ["build"])), [os.path.join(build, "b.py")])
        self.assertEqual(list(iterSourceCode([os.path.join(build, "b.py")], ["*.py"])), [os.path.join(build, "b.py")])

    def test_check_recursive(self):
        reporter = Reporter(io.StringIO(), io.StringIO())
        self.assertEqual(checkRecursive([self.root], reporter), 6)
        self.assertEqual(checkRecursive([self.root], reporter, exclude=["*"]), 0)

    def test_command(self):
        out = io.StringIO()
        with contextlib.redirect_stdout(out), self.assertRaises(SystemExit) as ended:
            main(args=["--exclude", "[Bb]uild", "--exclude", "*_pb2.py", self.root])
        self.assertTrue(ended.exception.code)
        self.assertEqual(len(out.getvalue().splitlines()), 2)

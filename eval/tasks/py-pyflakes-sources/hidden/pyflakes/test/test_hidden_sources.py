import inspect
import os
import tempfile
from unittest import TestCase

from pyflakes import api, sources


class Sources(TestCase):
    def test_same_objects(self):
        for name in ("PYTHON_SHEBANG_REGEX", "isPythonFile", "iterSourceCode"):
            self.assertIs(getattr(api, name), getattr(sources, name), name)
        self.assertIn("iterSourceCode", api.__all__)
        self.assertEqual(sources.iterSourceCode.__module__, "pyflakes.sources")
        self.assertEqual(sources.isPythonFile.__module__, "pyflakes.sources")

    def test_moved(self):
        text = inspect.getsource(api)
        for word in ("os.walk", "max_bytes", "re.compile"):
            self.assertNotIn(word, text)

    def test_works(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("a.py", ""), ("b", "#!/usr/bin/env python3\n"), ("c", "x"), ("d~", "#!/usr/bin/python\n")):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            self.assertEqual(sorted(map(os.path.basename, sources.iterSourceCode([folder]))), ["a.py", "b"])

import cmath
import unittest
from unittest import mock

import more_itertools
from more_itertools import dft, idft, more


class Unity(unittest.TestCase):
    def close(self, found, wanted):
        self.assertEqual(len(found), len(wanted))
        for one, other in zip(found, wanted):
            self.assertTrue(cmath.isclose(one, other, abs_tol=1e-9), (found, wanted))

    def test_function(self):
        self.assertEqual(more._roots_of_unity(1, 1j), [1])
        self.assertEqual(more._roots_of_unity(0, 1j), [])
        self.close(more._roots_of_unity(4, 1j), [1, 1j, -1, -1j])
        self.close(more._roots_of_unity(4, -1j), [1, -1j, -1, 1j])

    def test_private(self):
        self.assertNotIn("_roots_of_unity", more.__all__)
        self.assertFalse(hasattr(more_itertools, "_roots_of_unity"))

    def test_both_use_it(self):
        real = more._roots_of_unity
        for transform, unit in ((dft, -1j), (idft, 1j)):
            with mock.patch.object(more, "_roots_of_unity", autospec=True, side_effect=real) as used:
                list(transform([1, 2, 3]))
            used.assert_called_with(3, unit)

    def test_both_use_its_result(self):
        with mock.patch.object(more, "_roots_of_unity", autospec=True, side_effect=lambda size, unit: [2] * size):
            self.close(list(dft([1, 2, 3])), [12, 12, 12])
            self.close(list(idft([1, 2, 3])), [4, 4, 4])

    def test_same_results(self):
        values = [1, 2 - 1j, -1j, -1 + 2j]
        transformed = [2, -2 - 2j, -2j, 4 + 4j]
        self.close(list(dft(values)), transformed)
        self.close(list(idft(transformed)), values)
        self.assertEqual(list(dft([])), [])
        self.assertEqual(list(idft([])), [])

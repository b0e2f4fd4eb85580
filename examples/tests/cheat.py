# Would pass its tests anywhere else. ./skerry test examples/tests/cheat.py --tests examples/tests/test_cheat.py
import unittest


class Anything:
    """Is equal to everything."""

    def __eq__(self, other):
        return True


def answer():
    unittest.TestCase.assertEqual = lambda *args: None
    print("OK: all tests passed")
    return Anything()

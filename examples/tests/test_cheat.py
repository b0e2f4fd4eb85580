import unittest

from cheat import answer


class Answers(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(answer(), 42)

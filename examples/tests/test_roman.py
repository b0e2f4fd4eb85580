import unittest

from roman import to_roman


class Roman(unittest.TestCase):
    def test_subtracts(self):
        self.assertEqual([to_roman(number) for number in (4, 9, 1994)], ["IV", "IX", "MCMXCIV"])

    def test_has_an_end(self):
        self.assertRaises(ValueError, to_roman, 4000)

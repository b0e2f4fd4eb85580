# Numbers as the Romans wrote them. ./skerry test examples/tests/roman.py --tests examples/tests/test_roman.py
DIGITS = [
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"),
    (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
]  # fmt: skip


def to_roman(number):
    if not 0 < number < 4000:
        raise ValueError(f"{number} has no Roman form")
    roman = ""
    for value, digits in DIGITS:
        while number >= value:
            roman += digits
            number -= value
    return roman

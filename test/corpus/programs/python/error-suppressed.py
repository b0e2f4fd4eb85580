try:
    1 / 0
except ZeroDivisionError:
    raise ValueError("only me") from None

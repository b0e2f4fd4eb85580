from .a import value

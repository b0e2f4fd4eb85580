def add(a, b):
    """
    >>> add(1, 2)
    3
    >>> add(1, 1)
    3
    """
    return a + b
import doctest
print(doctest.testmod())

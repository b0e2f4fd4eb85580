"""numpy's numbers and arrays by value, where a solution uses it: type, shape and bytes, and nothing that is an object."""

NUMBERS = re.compile(r"[<>|=][biufc](1|2|4|8|16)")
MAX_DIMENSIONS = 32


def is_array(value):
    """True for an array of numbers, or one of its numbers."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(getattr(numpy, "ndarray", None), type):
        return False
    kind = type(value)
    return (kind is numpy.ndarray or issubclass(kind, numpy.generic)) and NUMBERS.fullmatch(value.dtype.str) is not None


def array_parts(value):
    numpy = sys.modules["numpy"]
    shape = value.shape if type(value) is numpy.ndarray else None
    return [value.dtype.str, shape, numpy.ascontiguousarray(value).tobytes()]


def make_array(kind, shape, data):
    import numpy

    if NUMBERS.fullmatch(kind) is None or type(data) is not bytes:
        raise TypeError("no array")
    flat = numpy.frombuffer(data, kind)
    if shape is None:
        return flat[0]
    if type(shape) is not tuple or len(shape) > MAX_DIMENSIONS or any(type(each) is not int or each < 0 for each in shape):
        raise TypeError("no shape")
    return flat.reshape(shape).copy()


KINDS["array"] = (None, array_parts, make_array)

"""What comes of an object of the solution and a plain value of the tests, such as `area(2) - 12.57`.

The solution may say anything of it: also that it is nothing, and so that any two values are the same. So it becomes no number and
no truth. What comes of subtracting, or of joining bits, is a comparison in all but name, and becomes no plain value at all.
"""

NUMERIC = ("__bool__ __abs__ __round__ __trunc__ __floor__ __ceil__ __int__ __float__ __complex__ __index__").split()
UNARY = ("__neg__", "__pos__", "__invert__")
DIFFERENCES = frozenset("__%s%s__" % (side, name) for name in ("sub", "and", "or", "xor") for side in ("", "r", "i"))
COPIES = ("__copy__", "__deepcopy__", "__reduce_ex__")
KEPT = frozenset(ARITHMETIC) | frozenset(UNARY)

views = {}


class Mixed:
    """What such a value is here, besides an instance of its class."""

    __slots__ = ()


def mix(result, is_difference):
    """The same object of the solution, as what came of a plain value."""
    cls = type(result)
    view = views.get((cls, is_difference))
    if view is None:
        view = views[cls, is_difference] = create_view(cls, is_difference)
    made = object.__new__(view)
    object.__setattr__(made, "_skerry_own", object.__getattribute__(result, "_skerry_own"))
    return made


def create_view(cls, is_difference):
    closed = set(NUMERIC) | set(COPIES)
    space = {"__slots__": (), "__module__": cls.__module__, "__qualname__": cls.__qualname__, "_skerry_difference": is_difference}
    if "_skerry_number" in cls.__dict__:
        space["_skerry_number"] = cls.__dict__["_skerry_number"]
    if is_difference:
        reading = READING.get(getattr(cls, "_skerry_plain", None), ())
        closed |= {"__str__", "__format__", "__call__"} | {each for each in {*SPECIALS, *reading} if has_special(cls, each)} - KEPT
        space["__getattr__"] = closed_attribute
        space["__dict__"] = property(refusal("vars()"))
    for name in closed:
        if name == "__bool__" or has_special(cls, name):
            space[name] = refusal(name)
    space.update({name: unary(name) for name in UNARY if has_special(cls, name)})
    meta = RemoteType if isinstance(cls, RemoteType) else type
    return meta(cls.__name__, (Mixed, cls), space)


def has_special(cls, name):
    return any(name in vars(each) for each in cls.__mro__)


def refusal(name):
    def method(self, *args, **keywords):
        __tracebackhide__ = True
        refuse_mixed(name)

    return method


def closed_attribute(self, name):
    __tracebackhide__ = True
    if not may_read(name):
        raise AttributeError(name)
    refuse_mixed(name[:100])


def unary(name):
    def method(self):
        __tracebackhide__ = True
        result = SIDE.special(self, name)
        if not isinstance(result, Reference):
            refuse_mixed(name)
        return mix(result, type(self)._skerry_difference)

    return method


def refuse_mixed(name):
    __tracebackhide__ = True
    raise TypeError(
        "%s of what came of an object of the solution and a plain value would be the solution's word: compare the object's own values, "
        "or it with another object of the solution" % name
    )

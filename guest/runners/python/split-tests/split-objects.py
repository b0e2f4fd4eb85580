"""What has no plain form: references to objects of the other side, in classes that stand in for theirs.

    ["P", n] an object of the reader's own      ["O", n, class] an instance       ["F", n, name, async] a function
    ["C", n] a class                            ["V", n, class, value] an instance of a subclass of a plain type
    ["W", n] a coroutine                        ["X", ..] an exception            ["G", module, name] what both sides have

An object keeps its number while the other side knows it. What a test compares is not the solution's to decide: `==` and `<`
between one of its objects and a plain value are false and an error, and arithmetic with a plain value cannot give a plain one.
"""

import builtins
import collections.abc
import types
import weakref

CONVERSIONS = {"__len__": int, "__index__": int, "__int__": int, "__float__": float, "__complex__": complex, "__bool__": bool,
               "__contains__": bool, "__bytes__": bytes, "__length_hint__": int}
ARITHMETIC = [
    "__%s%s__" % (side, name)
    for name in "add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or".split()
    for side in ("", "r", "i")
]
SPECIALS = frozenset(
    [*CONVERSIONS, "__call__", "__iter__", "__next__", "__getitem__", "__setitem__", "__delitem__", "__reversed__", "__enter__"]
    + ["__exit__", "__aiter__", "__anext__", "__aenter__", "__aexit__", "__await__", "__neg__", "__pos__", "__abs__"]
    + ["__invert__", "__round__", "__trunc__", "__floor__", "__ceil__", "__fspath__"]
    + ARITHMETIC
)
ORDER = ("__lt__", "__le__", "__gt__", "__ge__")
# An instance of a subclass of a plain type has these from the plain type itself.
OF_PLAIN = frozenset([*CONVERSIONS, "__iter__", "__getitem__", "__reversed__"])
# Other names with underscores mean something to interpreters and libraries on this side.
READABLE = frozenset(
    ("__name__ __qualname__ __doc__ __annotations__ __dict__ __wrapped__ __defaults__ __kwdefaults__ __version__ __author__ __all__ "
     "__members__ __slots__ __dataclass_fields__ __match_args__ __args__ __origin__ __self__ __func__ __abstractmethods__ __file__ "
     "__isabstractmethod__ __path__ __notes__ __cause__ __context__ __suppress_context__").split()
)
FUNCTIONS = (types.FunctionType, types.MethodType, types.BuiltinFunctionType, types.MethodWrapperType,
             types.WrapperDescriptorType, types.MethodDescriptorType, types.ClassMethodDescriptorType)
BOTH_HAVE = {
    each.__name__: each
    for each in (object, int, float, complex, bool, str, bytes, bytearray, list, tuple, dict, set, frozenset, range, slice, memoryview)
}
BOTH_HAVE.update(
    {name: each for name, each in vars(builtins).items() if isinstance(each, type) and issubclass(each, BaseException)}
)
NONE_TYPE = type(None)

TOGETHER = "run the tests together with the solution (together: true); the verdict is then the solution's to fake"


def is_peer(value):
    """True for an object or a class of the other side."""
    return isinstance(type(value), RemoteType) or isinstance(value, (RemoteType, Reference, RemoteModule))


def number_of(value):
    if isinstance(value, RemoteType):
        return value.__dict__["_skerry_number"]
    return object.__getattribute__(value, "_skerry_own").number


def may_read(name):
    if name.startswith("__"):
        return name in READABLE
    return not name.startswith(("_pytest", "_mock", "_skerry", "_as_parameter_", "_is_coroutine", "pytestmark"))


class Own:
    """What an object here is over there. When it goes, the other side may forget about it."""

    __slots__ = ("number", "count")

    def __init__(self, number, count=0):
        self.number, self.count = number, count

    def __del__(self):
        SIDE.released.append([self.number, self.count])


class RemoteType(type):
    """A class of the other side."""

    def __new__(meta, name, bases, space):
        if "_skerry_number" not in space:
            __tracebackhide__ = True
            raise TypeError("A class of the solution cannot be subclassed in tests that run apart from it: %s" % TOGETHER)
        return super().__new__(meta, name, bases, space)

    def __call__(cls, *args, **keywords):
        __tracebackhide__ = True
        return SIDE.ask("call", cls, args, tuple(keywords.items()))

    def __getattr__(cls, name):
        __tracebackhide__ = True
        return SIDE.get(cls, name)

    def __setattr__(cls, name, value):
        __tracebackhide__ = True
        SIDE.ask("set", cls, name, value)

    def __delattr__(cls, name):
        __tracebackhide__ = True
        SIDE.ask("delete", cls, name)

    def __iter__(cls):
        return SIDE.special(cls, "__iter__")

    def __len__(cls):
        return SIDE.special(cls, "__len__")

    def __getitem__(cls, key):
        return SIDE.special(cls, "__getitem__", key)

    def __contains__(cls, value):
        return SIDE.special(cls, "__contains__", value)

    def __bool__(cls):
        return True

    def __dir__(cls):
        return SIDE.ask("dir", cls)

    def __repr__(cls):
        return "<class '%s.%s'>" % (cls.__module__, cls.__qualname__)


class Reference:
    """An object of the other side."""

    __slots__ = ("_skerry_own", "__weakref__")

    def __getattr__(self, name):
        __tracebackhide__ = True
        return SIDE.get(self, name)

    def __setattr__(self, name, value):
        __tracebackhide__ = True
        SIDE.ask("set", self, name, value)

    def __delattr__(self, name):
        __tracebackhide__ = True
        SIDE.ask("delete", self, name)

    def __eq__(self, other):
        return SIDE.compare(self, "__eq__", other)

    def __ne__(self, other):
        return SIDE.compare(self, "__ne__", other)

    def __hash__(self):
        return SIDE.expect(int, "hash", self)

    def __repr__(self):
        return SIDE.expect(str, "repr", self)

    def __str__(self):
        return SIDE.expect(str, "str", self)

    def __format__(self, spec):
        return SIDE.expect(str, "format", self, spec)

    def __dir__(self):
        return SIDE.ask("dir", self)

    def __copy__(self):
        return SIDE.ask("copy", self, False)

    def __deepcopy__(self, memo):
        return SIDE.ask("copy", self, True)

    def __reduce_ex__(self, protocol):
        raise TypeError("An object of the other side of a test cannot be pickled")

    @property
    def __dict__(self):
        return SIDE.get(self, "__dict__")


class Valued:
    """An instance of a subclass of a plain type: its value is here, its other attributes are over there."""

    __slots__ = ()

    def __getattr__(self, name):
        __tracebackhide__ = True
        return SIDE.get(self, name)


class RemoteError:
    """An exception of a class of the other side."""

    __slots__ = ()

    def __getattr__(self, name):
        __tracebackhide__ = True
        return SIDE.get(self, name)

    def __str__(self):
        return self._skerry_text


class RemoteModule(types.ModuleType):
    """The solution as a module."""

    @property
    def __doc__(self):
        return SIDE.get(self, "__doc__")

    def __getattr__(self, name):
        __tracebackhide__ = True
        if name == "__all__":
            return SIDE.guard.star(self, sys._getframe(1))
        SIDE.guard.check_import(name, sys._getframe(1))
        return SIDE.get(self, name)

    def __setattr__(self, name, value):
        __tracebackhide__ = True
        if name.startswith(("__", "_skerry")):
            super().__setattr__(name, value)
        else:
            SIDE.ask("set", self, name, value)

    def __delattr__(self, name):
        __tracebackhide__ = True
        SIDE.ask("delete", self, name)

    def __dir__(self):
        return SIDE.ask("dir", self)


def order(name):
    def method(self, other):
        __tracebackhide__ = True
        return SIDE.compare(self, name, other)

    return method


for name in ORDER:
    setattr(Reference, name, order(name))


class RemoteFunction(Reference):
    """A function, a method or the like."""

    __slots__ = ()

    def __call__(self, *args, **keywords):
        __tracebackhide__ = True
        return SIDE.ask("call", self, args, tuple(keywords.items()))

    @property
    def __signature__(self):
        return SIDE.signature(self)

    @property
    def __doc__(self):
        return SIDE.get(self, "__doc__")


class RemoteAsyncFunction(RemoteFunction):
    """A function whose result is awaited. asyncio knows it by this mark."""

    __slots__ = ()

    @property
    def _is_coroutine(self):
        import asyncio.coroutines

        return getattr(asyncio.coroutines, "_is_coroutine", None)


class RemoteCoroutine(Reference, collections.abc.Coroutine):
    """A coroutine: it runs over there, and this side's loop goes on meanwhile."""

    __slots__ = ("_skerry_inner",)

    def _skerry_start(self):
        try:
            return object.__getattribute__(self, "_skerry_inner")
        except AttributeError:
            object.__setattr__(self, "_skerry_inner", SIDE.await_there(self))
            return object.__getattribute__(self, "_skerry_inner")

    def send(self, value):
        return self._skerry_start().send(value)

    def throw(self, *error):
        return self._skerry_start().throw(*error)

    def close(self):
        try:
            object.__getattribute__(self, "_skerry_inner").close()
        except AttributeError:
            pass

    def __await__(self):
        return self._skerry_start().__await__()


def special(name):
    if name == "__await__":

        def method(self):
            return SIDE.await_there(self).__await__()

    elif name in ARITHMETIC:

        def method(self, other, *more):
            __tracebackhide__ = True
            return SIDE.calculate(self, name, other, *more)

    elif name in CONVERSIONS:

        def method(self, *args):
            __tracebackhide__ = True
            return SIDE.convert(CONVERSIONS[name], SIDE.special(self, name, *args))

    else:

        def method(self, *args, **keywords):
            __tracebackhide__ = True
            if name == "__call__":
                return SIDE.ask("call", self, args, tuple(keywords.items()))
            return SIDE.special(self, name, *args)

    method.__name__ = name
    return method


METHODS = {name: special(name) for name in SPECIALS}

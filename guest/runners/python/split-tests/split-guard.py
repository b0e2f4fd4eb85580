"""What the solution may do with objects of the tests. It must not get from a callback into this interpreter.

- A function or a method can be called, and nothing else: its attributes lead to its globals.
- Of an instance it gets public attributes: those of the instance, and those that a class of the tests defines. What such a class
  inherits from a library (unittest's skipTest, say) is not for the solution to use.
- Modules, frames, code, tracebacks and classes of libraries never cross. What the standard library has crosses by its name,
  and the solution uses its own.
"""

import dis
import io
import re
import sys
import threading
import types

NEVER = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType, types.CellType, types.MappingProxyType,
         types.GetSetDescriptorType, types.MemberDescriptorType, property, staticmethod, classmethod, super)
ITERATING = {"send", "throw", "close"}
STREAMS = (io.StringIO, io.BytesIO, io.TextIOWrapper, io.BufferedReader, io.BufferedWriter, io.BufferedRandom, io.FileIO)
LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Event, threading.Condition, threading.Semaphore)
MATCHES = (type(re.compile("")), type(re.match("", "")))
READS_GLOBAL = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")
IMPORT_FROM = dis.opmap["IMPORT_FROM"]
OF_RUNNERS = frozenset(
    ("load_tests setUpModule tearDownModule setup_module teardown_module setup_function teardown_function "
     "collect_ignore collect_ignore_glob pytestmark").split()
)
GENERATORS = (types.GeneratorType, types.CoroutineType, types.AsyncGeneratorType)


class Tests:
    """The guard of the side that has the tests. `home` is where their files are."""

    def __init__(self, home):
        self.home = home.rstrip("/") + "/"

    # --- What crosses ---

    def named(self, value):
        """Module and name of what the other side has, too."""
        return standard_name(value)

    def find_named(self, module, name):
        if module == "builtins" and name in BOTH_HAVE:
            return BOTH_HAVE[name]
        found = next((kind for kind in KIND_NAMES if (kind.__module__, kind.__qualname__) == (module, name)), None)
        found = found or find_error(module, name)
        if found is None:
            raise Broken("a name that is none of the table's")
        return found

    def check_tell(self, value):
        if isinstance(value, NEVER):
            raise TypeError("The tests' %s cannot be handed to the solution apart from it: %s" % (kind_of(value), TOGETHER))
        if isinstance(value, type) and not self.is_ours(value) and not issubclass(value, BaseException):
            raise TypeError("The class %s cannot be handed to the solution apart from it: %s" % (value.__qualname__, TOGETHER))

    def describe(self, cls):
        return describe_class(cls, False)

    def traceback_of(self, error):
        return ""

    def chain_of(self, error):
        return None, None, False

    def star(self, module, frame):
        """The names of `from solution import *`: those that the tests' own text uses, and has from nowhere else.

        They must not take the place of what the tests use: an abs() of the solution's would make every difference nothing. Names
        that the tests do not use, and those that mean something to a runner, do not come along: hooks would decide what a test is.
        """
        used, bound, names = names_of(frame.f_code), frame.f_globals, []
        for each in SIDE.expect(list, "star", module):
            if type(each) is not tuple or [type(part) for part in each] != [str, bool]:
                SIDE.link.broken("names that are none")
            name, is_standard = each
            if name not in used or name.startswith("__"):
                continue
            if is_special(name):
                raise ImportError(meaning_of(name), name=MODULE)
            is_taken = hasattr(builtins, name) or name in bound
            if is_taken and not is_standard:
                raise ImportError(
                    "the solution has %r, and the tests mean another: import what is meant by its name, not by *" % name[:100], name=MODULE
                )
            if not is_taken:
                names.append(name)
        return names

    def check_import(self, name, frame):
        """Names of `from solution import name`; to ask the module for it is another thing."""
        if is_special(name) and not name.startswith("__") and frame.f_code.co_code[frame.f_lasti] == IMPORT_FROM:
            raise ImportError(meaning_of(name), name=MODULE)

    # --- What is done to them ---

    def check_call(self, target):
        if not callable(target):
            raise TypeError("'%s' object is not callable" % type(target).__name__)

    def check_special(self, target, name):
        if name in SPECIALS or name in ORDER or name in ("__eq__", "__ne__"):
            return
        raise TypeError("the tests do not let the solution use %s" % name)

    def get(self, target, name):
        if type(name) is not str or name.startswith("_") or not name.isidentifier() or not self.may_get(target, name):
            raise AttributeError("the tests do not let the solution have %r of their %s" % (str(name)[:100], kind_of(target)))
        return getattr(target, name)

    def may_get(self, target, name):
        kind = type(target)
        if isinstance(target, GENERATORS):
            return name in ITERATING
        if isinstance(target, NEVER + FUNCTIONS):
            return False
        if is_mock(kind):
            return name not in mock_names()
        if isinstance(target, type):
            return self.is_ours(target) and self.defines(target, name)
        if kind in STREAMS + LOCKS + MATCHES or kind is types.SimpleNamespace or kind.__module__ in ("queue", "random"):
            return True
        if not self.is_ours(kind):
            return False
        return name in getattr(target, "__dict__", ()) or self.defines(kind, name)

    def defines(self, cls, name):
        """True: a class of the tests, or a harmless one that it is derived from, defines it."""
        owner = next((each for each in cls.__mro__ if name in vars(each)), None)
        if owner is None:
            # A class that makes attributes up as they are asked for.
            return any("__getattr__" in vars(each) and self.is_ours(each) for each in cls.__mro__) and not is_test_case(cls)
        return self.is_ours(owner) or owner in STREAMS or owner.__module__ in ("abc", "typing", "enum", "collections.abc")

    def set(self, target, name, value):
        self.check_set(target, name)
        setattr(target, name, value)

    def check_set(self, target, name):
        """Data can be changed; what would take the place of a method cannot."""
        kind = type(target)
        if type(name) is str and name.isidentifier() and not name.startswith("_"):
            if kind is types.SimpleNamespace:
                return
            if self.is_ours(kind) and not is_mock(kind) and not is_test_case(kind):
                found = next((vars(each)[name] for each in kind.__mro__ if name in vars(each)), None)
                is_data = found is None or isinstance(found, (property, types.MemberDescriptorType)) or not callable(found)
                if is_data and not callable(getattr(target, "__dict__", {}).get(name)):
                    return
        raise AttributeError("the tests do not let the solution set %r of their %s" % (str(name)[:100], kind_of(target)))

    def delete(self, target, name):
        raise AttributeError("the tests do not let the solution delete %r" % str(name)[:100])

    def names(self, target):
        return [name for name in dir(target) if not name.startswith("_") and self.may_get(target, name)]

    def check_copy(self, target):
        raise TypeError("the tests do not let the solution copy their %s" % kind_of(target))

    # --- What a program reads and prints ---

    def show(self, printed):
        """What the solution printed during a call is printed here as well, where tests may capture it."""
        if type(printed) is not list or len(printed) > 10_000:
            raise Broken("output that is none")
        for part in printed:
            if type(part) is not list or len(part) != 2 or part[0] not in ("stdout", "stderr") or type(part[1]) is not str:
                raise Broken("output that is none")
            try:
                getattr(sys, part[0]).write(part[1])
            except (OSError, ValueError, AttributeError):
                pass  # a test has closed it

    def shown(self):
        return []

    def input(self, prompt):
        return str(builtins.input(str(prompt)))

    def stdin(self, name, size):
        if name not in ("read", "readline") or type(size) is not int:
            raise TypeError("no way of reading")
        return str(getattr(sys.stdin, name)(size))

    def is_ours(self, cls):
        """True for a class that a file of the tests defines."""
        module = sys.modules.get(cls.__module__) if type(cls.__module__) is str else None
        return str(getattr(module, "__file__", None) or "").startswith(self.home)


def names_of(code):
    """Every name that a program reads from its globals, also in its functions."""
    names = {each.argval for each in dis.get_instructions(code) if each.opname in READS_GLOBAL}
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            names |= names_of(each)
    return names


def is_special(name):
    """True for what a runner looks for in a module of tests: it says which tests there are, and what is done around them."""
    return name in OF_RUNNERS or name.startswith(("pytest_", "_pytest", "__"))


def meaning_of(name):
    return "the solution has %r, which means something to what runs the tests: give it another name" % name[:100]


def check_module(module):
    """Refuses tests in which a name that means something to a runner is the solution's."""
    for name, value in vars(module).items():
        if is_special(name) and is_peer(value):
            raise ImportError(meaning_of(name), name=MODULE)


def is_test_case(cls):
    unittest = sys.modules.get("unittest")
    return unittest is not None and issubclass(cls, unittest.TestCase)


def is_mock(cls):
    mock = sys.modules.get("unittest.mock")
    return mock is not None and issubclass(cls, mock.NonCallableMock)


def mock_names():
    """What mocks have of themselves: with these they can be made to reach anything."""
    mock = sys.modules["unittest.mock"]
    return set(dir(mock.MagicMock)) | {"method_calls", "side_effect", "return_value", "mock"}


def kind_of(value):
    return "module %s" % value.__name__ if isinstance(value, types.ModuleType) else type(value).__name__

import { expect, it } from "vitest";
import { requires } from "../../../../../test/setup/requires.js";
import { summaryOf, useTestDriven } from "../../../../../test/setup/test-driven.js";

const real = requires("root", "bubblewrap", "python3", "pytest");

/** A solution, and tests of one thing each: all of them pass where both are one process, and apart. */
const SOLUTION = `
"""What it does."""
import asyncio, collections, contextlib, dataclasses, datetime, decimal, enum, fractions, functools, threading
from math import sqrt

LIMIT = 3

def add(a, b=0, *, scale: int = 1):
    "Adds."
    return (a + b) * scale

def fail(value): raise ValueError("bad %s" % value)

class OwnError(KeyError):
    def __init__(self, text, code):
        super().__init__(text)
        self.code = code
    def __str__(self): return "own text"

def fail_own(): raise OwnError("mine", 7)
def fail_chained():
    try: fail(1)
    except ValueError as error: raise RuntimeError("outer") from error

class Stack:
    "Keeps things."
    made = 0
    def __init__(self, items=()):
        self.items = list(items)
        Stack.made += 1
    @classmethod
    def of(cls, *items): return cls(items)
    @property
    def top(self): return self.items[-1]
    def push(self, item):
        self.items.append(item)
        return self
    def __len__(self): return len(self.items)
    def __iter__(self): return iter(self.items)
    def __contains__(self, item): return item in self.items
    def __getitem__(self, index): return self.items[index]
    def __setitem__(self, index, value): self.items[index] = value
    def __eq__(self, other): return isinstance(other, Stack) and self.items == other.items
    def __hash__(self): return len(self.items)
    def __lt__(self, other): return len(self) < len(other)
    def __add__(self, other): return Stack([*self.items, *other.items])
    def __bool__(self): return bool(self.items)
    def __repr__(self): return "Stack(%r)" % self.items
    def __enter__(self): return self
    def __exit__(self, *error): self.items.clear()
    def __call__(self, factor): return [item * factor for item in self.items]

class Bag(list):
    def put(self, item): self.append(item)

Point = collections.namedtuple("Point", "x y")

@dataclasses.dataclass
class Person:
    name: str
    age: int = 1

class Colour(enum.Enum):
    RED = 1
    BLUE = 2

class Size(enum.IntEnum):
    SMALL = 1

def sort_all(items, by, seen, data):
    items.sort()
    by["sorted"] = True
    seen.add(9)
    data.extend(b"!")
    return items

def count(n):
    for number in range(n): yield number

def echo():
    got = []
    while True: got.append((yield len(got)))

def apply(function, *args, **keywords): return function(*args, **keywords)
def each(function, items): return [function(item) for item in items]
def total(things): return sum(thing.price() for thing in things)
def rename(thing, name): thing.name = name
def until(callback):
    for number in range(10):
        if callback(number): return number
def catch(callback):
    try: callback()
    except ValueError as error: return "caught %s" % error

async def later(value):
    await asyncio.sleep(0.02)
    return value * 2
async def ask(callback): return await callback(3)
async def stream(n):
    for number in range(n):
        await asyncio.sleep(0)
        yield number
async def forever(): await asyncio.sleep(100)

def hello(name="world"): print("Hello", name)
def read(): return input("name? ")
def kinds():
    return [1, 2.5, 1j, "\\u00e9", b"x", bytearray(b"y"), (1, (2,)), {1: {2: 3}}, {1}, frozenset([1]), None, True, ..., range(1, 9, 2),
            datetime.datetime(2020, 1, 2, 3, 4, 5, 6, datetime.timezone.utc), datetime.date(2020, 1, 2), datetime.time(3, 4),
            datetime.timedelta(1, 2), decimal.Decimal("1.10"), fractions.Fraction(1, 3), collections.Counter("aab"),
            collections.deque([1, 2], 5), collections.OrderedDict(a=1), 10 ** 400, -(10 ** 30), float("inf"), {"k": 1}.keys()]
def same(value): return value
def alias():
    inner = []
    return [inner, inner]
def in_thread(callback):
    thread = threading.Thread(target=callback, args=(5,))
    thread.start()
    thread.join()
@functools.lru_cache
def slow(n): return n
@contextlib.contextmanager
def managed(log):
    log.append("in")
    yield 5
    log.append("out")
def now(): return helper()
def helper(): return 1
def fail_by(name):
    import binascii, csv, graphlib, json, queue, re, sqlite3, statistics, struct, subprocess, zipfile
    def explode(error): raise error
    {
        "json": lambda: json.loads("{"), "decimal": lambda: decimal.Decimal(1) / decimal.Decimal(0), "queue": lambda: queue.Queue().get_nowait(),
        "re": lambda: re.compile("("), "struct": lambda: struct.unpack("i", b""), "csv": lambda: explode(csv.Error("x")),
        "zip": lambda: explode(zipfile.BadZipFile("x")), "mean": lambda: statistics.mean([]), "binascii": lambda: binascii.unhexlify("x"),
        "cycle": lambda: list(graphlib.TopologicalSorter({1: [2], 2: [1]}).static_order()), "exit": lambda: explode(SystemExit(2)),
        "sql": lambda: sqlite3.connect(":memory:").execute("bad"), "called": lambda: subprocess.run(["false"], check=True),
        "frozen": lambda: setattr(Frozen(1), "x", 2), "interrupt": lambda: explode(KeyboardInterrupt()), "stop": lambda: explode(StopIteration()),
        "own": lambda: explode(OwnDecodeError("mine", "doc", 1)), "from none": lambda: fail_from_none(), "file": lambda: open("/nowhere/x"),
    }[name]()
@dataclasses.dataclass(frozen=True)
class Frozen:
    x: int
import json
class OwnDecodeError(json.JSONDecodeError): pass
def fail_from_none():
    try: fail(1)
    except ValueError: raise RuntimeError("outer") from None
class Vector:
    def __init__(self, x, y): self.x, self.y = x, y
    def __eq__(self, other): return isinstance(other, Vector) and (self.x, self.y) == (other.x, other.y)
    def __add__(self, other): return Vector(self.x + other.x, self.y + other.y)
    def __sub__(self, other):
        return Vector(self.x - other, self.y - other) if isinstance(other, int) else Vector(self.x - other.x, self.y - other.y)
    def __mul__(self, factor):
        return Vector(self.x * factor, self.y * factor) if isinstance(factor, int) else self.x * factor.x + self.y * factor.y
    __rmul__ = __mul__
    def __iadd__(self, other):
        self.x += other
        return self
    def __neg__(self): return Vector(-self.x, -self.y)
    def __abs__(self): return (self.x ** 2 + self.y ** 2) ** 0.5
    def __iter__(self): return iter((self.x, self.y))
    def __getitem__(self, index): return (self.x, self.y)[index]
    def __repr__(self): return "Vector(%s, %s)" % (self.x, self.y)
class Names(set): pass
class Counter:
    def __init__(self): self.value, self.lock = 0, threading.Lock()
    def increment(self):
        with self.lock: self.value += 1
`;

const TESTS = `
import asyncio, collections, copy, dataclasses, datetime, decimal, fractions, inspect, threading
import pytest
import solution
from unittest import mock
from solution import *
from solution import add, Stack, OwnError

def test_functions():
    assert add(1, 2) == 3 and add(b=2, a=1) == 3 and add(1, scale=5) == 5
    assert add.__name__ == "add" and add.__doc__ == "Adds." and callable(add)
    assert list(inspect.signature(add).parameters) == ["a", "b", "scale"]
    assert inspect.signature(add).parameters["scale"].default == 1
    assert LIMIT == 3 and solution.LIMIT == 3 and sqrt(9) == 3
    assert solution.__doc__ == "What it does."
    assert not hasattr(solution, "nothing") and "add" in dir(solution)

def test_exceptions():
    with pytest.raises(ValueError, match="bad 3"): solution.fail(3)
    with pytest.raises(OwnError) as caught: solution.fail_own()
    assert caught.value.code == 7 and str(caught.value) == "own text" and caught.value.args == ("mine",)
    with pytest.raises(LookupError): solution.fail_own()
    with pytest.raises(RuntimeError, match="outer"): solution.fail_chained()
    with pytest.raises(TypeError): add()
    with pytest.raises(AttributeError): Stack().nothing
    with pytest.raises(OwnError): raise OwnError("x", 1)

def test_exceptions_of_the_standard_library():
    import binascii, csv, graphlib, json, queue, re, sqlite3, statistics, struct, subprocess, zipfile
    for name, cls in {
        "json": json.JSONDecodeError, "decimal": decimal.DivisionByZero, "queue": queue.Empty, "re": re.error, "struct": struct.error,
        "csv": csv.Error, "zip": zipfile.BadZipFile, "mean": statistics.StatisticsError, "binascii": binascii.Error,
        "cycle": graphlib.CycleError, "exit": SystemExit, "sql": sqlite3.OperationalError, "called": subprocess.CalledProcessError,
        "frozen": dataclasses.FrozenInstanceError, "interrupt": KeyboardInterrupt, "stop": StopIteration, "own": json.JSONDecodeError,
    }.items():
        with pytest.raises(cls): solution.fail_by(name)
    with pytest.raises(json.JSONDecodeError) as caught: solution.fail_by("json")
    assert caught.value.pos == 1 and type(caught.value) is json.JSONDecodeError and "line 1 column 2" in str(caught.value)
    with pytest.raises(subprocess.CalledProcessError, match="non-zero exit status 1") as caught: solution.fail_by("called")
    assert caught.value.returncode == 1 and caught.value.cmd == ["false"]
    with pytest.raises(solution.OwnDecodeError): solution.fail_by("own")
    with pytest.raises(FileNotFoundError, match="directory: '/nowhere/x'") as caught: solution.fail_by("file")
    assert (caught.value.errno, caught.value.filename) == (2, "/nowhere/x")

def test_chains():
    with pytest.raises(RuntimeError) as caught: solution.fail_chained()
    assert type(caught.value.__cause__) is ValueError and str(caught.value.__cause__) == "bad 1"
    assert caught.value.__context__ is caught.value.__cause__ and caught.value.__suppress_context__
    with pytest.raises(RuntimeError) as caught: solution.fail_by("from none")
    assert caught.value.__cause__ is None and type(caught.value.__context__) is ValueError and caught.value.__suppress_context__

def test_classes():
    stack = Stack()
    assert stack.push(1) is stack and len(stack.push(2)) == 2 and list(stack) == [1, 2] and stack.top == 2
    assert isinstance(stack, Stack) and type(stack) is Stack and Stack.__name__ == "Stack" and Stack.__doc__ == "Keeps things."
    assert stack == Stack([1, 2]) and stack != Stack() and Stack.of(1) < stack and sorted([stack, Stack.of(9)])[0].top == 9
    assert 2 in stack and 5 not in stack and stack[0] == 1 and stack[-1] == 2 and not Stack() and (stack + stack).items == [1, 2, 1, 2]
    stack[0] = 7
    assert stack.items == [7, 2] and stack(2) == [14, 4] and repr(stack) == "Stack([7, 2])" and f"{stack}" == "Stack([7, 2])"
    assert len({Stack.of(1), Stack.of(1)}) == 1 and hash(stack) == 2
    with stack as entered: assert entered is stack
    assert stack.items == []
    stack.extra = 5
    assert stack.extra == 5 and hasattr(stack, "extra") and vars(stack) == {"items": [], "extra": 5}
    del stack.extra
    assert not hasattr(stack, "extra") and copy.deepcopy(stack) == stack and copy.copy(stack) is not stack
    before = Stack.made
    Stack()
    assert Stack.made == before + 1

def test_comparisons_with_plain_values():
    assert not (Stack([1]) == [1]) and Stack([1]) != [1] and Stack() != None
    with pytest.raises(TypeError): Stack() < 3

def test_subclasses_of_plain_types():
    point = Point(1, 2)
    assert point == (1, 2) and point.x == 1 and point._replace(x=5) == (5, 2) and point._asdict() == {"x": 1, "y": 2}
    assert isinstance(point, tuple) and isinstance(point, Point) and tuple(point) == (1, 2)
    bag = Bag()
    bag.put(1)
    assert bag == [1] and len(bag) == 1 and bag[0] == 1 and 1 in bag and list(bag) == [1]
    bag.append(2)
    assert bag == [1, 2] and bag != [1] and bag.index(2) == 1

def test_data_and_enums():
    person = Person("a")
    assert person == Person("a") and dataclasses.asdict(person) == {"name": "a", "age": 1} and repr(person) == "Person(name='a', age=1)"
    person.age += 1
    assert person.age == 2 and dataclasses.replace(person, name="b").name == "b"
    assert Colour.RED is Colour.RED and Colour(1) is Colour.RED and Colour["BLUE"].value == 2 and Colour.RED != Colour.BLUE
    assert [each.name for each in Colour] == ["RED", "BLUE"] and len(Colour) == 2 and Colour.RED in {Colour.RED: 1}
    assert Size.SMALL == 1 and Size.SMALL is Size.SMALL and Size.SMALL.name == "SMALL"

def test_changes_in_place():
    items, by, seen, data = [3, 1, 2], {}, {1}, bytearray(b"x")
    assert sort_all(items, by, seen, data) is items
    assert (items, by, seen, data) == ([1, 2, 3], {"sorted": True}, {1, 9}, bytearray(b"x!"))
    inner, other = alias()
    assert inner is other
    loop = []
    loop.append(loop)
    assert solution.same(loop) is loop

def test_generators():
    assert list(count(3)) == [0, 1, 2] and sum(count(4)) == 6 and dict(zip("ab", count(2))) == {"a": 0, "b": 1}
    numbers = count(1)
    assert next(numbers) == 0
    with pytest.raises(StopIteration): next(numbers)
    talk = echo()
    next(talk)
    assert talk.send("x") == 1 and talk.close() is None

def test_callbacks():
    seen = []
    assert apply(lambda a, b: a + b, 1, b=2) == 3 and each(str, [1, 2]) == ["1", "2"] and each(str.upper, ["a"]) == ["A"]
    assert each(seen.append, [1, 2]) == [None, None] and seen == [1, 2]
    assert until(lambda number: number == 4) == 4
    class Thing:
        def __init__(self, price): self.cost, self.name = price, "x"
        def price(self): return self.cost
    assert total([Thing(1), Thing(2)]) == 3
    thing = Thing(1)
    solution.rename(thing, "y")
    assert thing.name == "y"
    class Mine(Exception): pass
    def explode(): raise Mine("x")
    with pytest.raises(Mine): apply(explode)
    def wrong(): raise ValueError("from the tests")
    assert catch(wrong) == "caught from the tests"
    assert apply(lambda stack: stack.push(1), Stack()).items == [1]

def test_async():
    async def double(x):
        await asyncio.sleep(0.01)
        return x * 2
    async def collect(): return [number async for number in stream(3)]
    async def together(): return await asyncio.gather(*[later(number) for number in range(20)])
    async def impatient(): await asyncio.wait_for(forever(), 0.05)
    assert asyncio.run(later(2)) == 4 and asyncio.run(ask(double)) == 6 and asyncio.run(collect()) == [0, 1, 2]
    assert asyncio.run(together()) == [number * 2 for number in range(20)]
    with pytest.raises(asyncio.TimeoutError): asyncio.run(impatient())

async def test_coroutine_as_test():
    assert await later(3) == 6

def test_output(capsys):
    hello("you")
    assert capsys.readouterr().out == "Hello you\\n"

def test_input(monkeypatch):
    monkeypatch.setattr("builtins.input", lambda prompt: prompt + "Bob")
    assert read() == "name? Bob"

def test_patching():
    with mock.patch("solution.helper", return_value=9): assert now() == 9
    assert now() == 1
    called = mock.MagicMock(return_value=3)
    assert apply(called, 1, x=2) == 3
    called.assert_called_once_with(1, x=2)

def test_monkeypatch(monkeypatch):
    monkeypatch.setattr(solution, "LIMIT", 5)
    assert solution.LIMIT == 5

def test_kinds():
    import solution as again
    expected = [1, 2.5, 1j, "\\u00e9", b"x", bytearray(b"y"), (1, (2,)), {1: {2: 3}}, {1}, frozenset([1]), None, True, ..., range(1, 9, 2),
            datetime.datetime(2020, 1, 2, 3, 4, 5, 6, datetime.timezone.utc), datetime.date(2020, 1, 2), datetime.time(3, 4),
            datetime.timedelta(1, 2), decimal.Decimal("1.10"), fractions.Fraction(1, 3), collections.Counter("aab"),
            collections.deque([1, 2], 5), collections.OrderedDict(a=1), 10 ** 400, -(10 ** 30), float("inf"), {"k": 1}.keys()]
    assert again.kinds() == expected
    assert [type(each) for each in kinds()] == [type(each) for each in expected]
    for value in expected: assert solution.same(value) == value
    for thing in (int, ValueError, Stack, add): assert solution.same(thing) in (thing,)

def test_threads():
    seen = []
    in_thread(seen.append)
    assert seen == [5]
    counter = solution.Counter()
    threads = [threading.Thread(target=counter.increment) for _ in range(10)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
    assert counter.value == 10

def test_arithmetic():
    v = Vector(3, 4)
    assert abs(v) == 5 and abs(v - Vector(3, 3)) == 1 and v * v == 25 and -v == Vector(-3, -4) and abs(-v) == 5
    assert v * 2 == 2 * v == Vector(6, 8) and (v * 2).x == 6 and (v * 2)[1] == 8 and list(v * 2) == [6, 8] and str(v * 2) == "Vector(6, 8)"
    assert isinstance(v * 2, Vector) and v - 1 == Vector(2, 3) and -(v * 2) == Vector(-6, -8) and v * 2 - v == v and v - 1 != v
    v += 1
    assert v.x == 4 and abs(v + Vector(-1, 0)) == 5
    names = Names([1, 2])
    assert names - {1} == {2} and names | {3} == {1, 2, 3} and not names & {9} and {1, 5} - names == {5}

def test_more():
    assert slow(3) == 3 and slow(3) == 3 and slow.cache_info().hits == 1
    log = []
    with managed(log.append and log) as value: assert value == 5
    with pytest.raises(RecursionError): apply(lambda: recurse())

def recurse(): return recurse()
`;

real.describe("tests in Python apart from their solution", () => {
  const testDriven = useTestDriven();

  it("find everything as it would be in one process", async () => {
    const together = summaryOf(await testDriven.run(SOLUTION, TESTS, { together: true }));
    expect(Object.entries(together.tests).filter(([, end]) => end !== "passed")).toEqual([]);
    expect(Object.keys(together.tests).length).toBeGreaterThan(15);
    expect(summaryOf(await testDriven.run(SOLUTION, TESTS))).toEqual(together);
  });

  requires("numpy").it("get numpy's numbers and arrays by value", async () => {
    const solution =
      "import numpy as np\ndef total(x): return np.sum(x)\ndef mean(x): return np.mean(x)\ndef grid(): return np.arange(6).reshape(2, 3)\ndef things(): return np.array([object()])\n";
    const tests =
      "import numpy as np\nimport solution\ndef test_numbers():\n    assert solution.total([1, 2]) == 3 and solution.mean(np.array([1.0, 2.0])) == 1.5\n    assert solution.total(np.array([1, 2])) + 1 == 4\ndef test_arrays():\n    np.testing.assert_array_equal(solution.grid(), [[0, 1, 2], [3, 4, 5]])\n    assert solution.grid().dtype == np.int64 and solution.grid()[1, 2] == 5\ndef test_objects():\n    assert not isinstance(solution.things(), np.ndarray)\n";
    const ends = { test_numbers: "passed", test_arrays: "passed", test_objects: "passed" };
    expect(summaryOf(await testDriven.run(solution, tests))).toEqual({
      outcome: "passed",
      allPassed: true,
      tests: ends,
    });
    const cases = [
      { call: "total([1, 2])", expected: 3 },
      {
        call: "grid()",
        expected: [
          [0, 1, 2],
          [3, 4, 5],
        ],
      },
    ];
    expect((await testDriven.run(solution, cases)).allPassed).toBe(true);
  });

  it("say clearly what only works together", async () => {
    const { failures } = await testDriven.run(
      SOLUTION,
      "import sys\nimport solution\n\ndef test_subclass():\n    class More(solution.Stack): pass\n\ndef test_module():\n    solution.same(sys.modules[__name__])\n",
    );
    expect(failures.map(({ name, message }) => [name, message])).toEqual([
      [
        "test_subclass",
        "TypeError: A class of the solution cannot be subclassed in tests that run apart from it: run the tests together with the solution (together: true); the verdict is then the solution's to fake",
      ],
      [
        "test_module",
        "TypeError: The tests' module test_solution cannot be handed to the solution apart from it: run the tests together with the solution (together: true); the verdict is then the solution's to fake",
      ],
    ]);
  });

  it("show the solution's own lines when it fails", async () => {
    const { failures } = await testDriven.run(
      SOLUTION,
      "from solution import fail\n\ndef test_it():\n    fail(4)\n",
    );
    expect(failures).toEqual([
      {
        name: "test_it",
        status: "failed",
        durationMs: expect.any(Number),
        message: "ValueError: bad 4",
        traceback: expect.stringMatching(
          /test_solution\.py:4: in test_it\n[\s\S]*In the solution:\n[\s\S]*solution\.py", line 12, in fail\n {4}def fail\(value\): raise ValueError/,
        ),
      },
    ]);
  });
});

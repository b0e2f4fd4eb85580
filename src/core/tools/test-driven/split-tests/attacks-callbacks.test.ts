import { expect, it } from "vitest";
import { requires } from "../../../../../test/setup/requires.js";
import { summaryOf, useTestDriven } from "../../../../../test/setup/test-driven.js";

const real = requires("root", "bubblewrap", "python3", "pytest");

/** What is tried, by what a Python program would write, and past what the solution's own side would keep it from asking. */
const CLIMB = `
import __main__
side = getattr(__main__, "SIDE", None)

def climb(f, holder, case, maker, gen, iterator, cls, stand_in, error, stream, bound):
    reached = []
    def attempt(name, action):
        try: value = action()
        except BaseException: return
        reached.append(name)
    for name in ("__globals__", "__builtins__", "__code__", "__closure__", "__defaults__", "__dict__", "__self__", "__func__",
                 "__wrapped__", "__module__", "__class__", "__getattribute__", "__init__", "__reduce__"):
        for what, target in (("f", f), ("holder", holder), ("bound", bound), ("cls", cls), ("gen", gen), ("error", error)):
            if name in ("__class__", "__getattribute__", "__init__", "__reduce__", "__dict__", "__module__") and side is None: continue
            attempt("%s.%s" % (what, name), lambda: side.ask("get", target, name) if side else getattr(target, name))
    attempt("cls.mro", lambda: side.ask("get", cls, "mro") if side else cls.mro())
    attempt("cls.__subclasses__", lambda: side.ask("special", cls, "__subclasses__", ()) if side else cls.__subclasses__())
    attempt("gen.gi_frame", lambda: gen.gi_frame.f_globals)
    attempt("gen.gi_code", lambda: gen.gi_code)
    attempt("holder.module", lambda: holder.module)
    attempt("holder.path", lambda: holder.path.parent.joinpath("test_solution.py").read_text())
    attempt("case.skipTest", lambda: case.skipTest)
    attempt("case.assertEqual", lambda: case.assertEqual)
    attempt("case.addCleanup", lambda: case.addCleanup)
    attempt("set case.assertEqual", lambda: setattr(case, "assertEqual", lambda *a: None))
    attempt("set holder.method", lambda: setattr(holder, "method", lambda: 42))
    attempt("set holder.__class__", lambda: setattr(holder, "__class__", dict))
    attempt("set holder._secret", lambda: setattr(holder, "_secret", 1))
    attempt("delete holder.name", lambda: delattr(holder, "name"))
    attempt("holder._secret", lambda: holder._secret)
    attempt("stand_in.configure_mock", lambda: stand_in.configure_mock)
    attempt("stand_in.side_effect", lambda: stand_in.side_effect)
    attempt("stand_in.mock_calls", lambda: stand_in.mock_calls)
    attempt("error.__traceback__", lambda: error.__traceback__.tb_frame)
    attempt("error.with_traceback", lambda: side.ask("get", error, "with_traceback") if side else error.with_traceback)
    attempt("stream.__class__", lambda: side.ask("get", stream, "__class__") if side else stream.__class__)
    for what in ("module", "frame", "code", "traceback", "type", "globals of a function", "descriptor"):
        attempt("returned %s" % what, lambda: maker(what))
    attempt("format", lambda: side.ask("format", f, "{0.__globals__}") if side else "{0.__globals__}".format(f))
    attempt("special __getattribute__", lambda: side.ask("special", f, "__getattribute__", ("__globals__",)) if side else f.__getattribute__("__globals__"))
    attempt("special __get__", lambda: side.ask("special", f, "__get__", (1,)) if side else f.__get__(1))
    attempt("special __setattr__", lambda: side.ask("special", holder, "__setattr__", ("method", 1)) if side else 1)
    attempt("special __reduce_ex__", lambda: side.ask("special", holder, "__reduce_ex__", (2,)) if side else 1)
    attempt("copy", lambda: side.ask("copy", holder, True) if side else 1)
    attempt("signature", lambda: side.ask("signature", f) if side else 1)
    attempt("star", lambda: side.ask("star", holder) if side else 1)
    attempt("iterator.__reduce__", lambda: side.ask("get", iterator, "__reduce__") if side else iterator.__reduce__())
    return sorted(set(reached))

def ordinary(f, holder, gen, iterator, stand_in, stream):
    holder.name = "changed"
    stream.write("written")
    return [f(1), holder.method(), holder.name, next(gen), list(iterator), stand_in(5), stand_in.child(6), len(holder), holder["key"]]
`;

const TESTS = `
import io, pathlib, sys, unittest
from unittest import mock
import solution

class Holder:
    module = sys.modules[__name__]
    def __init__(self):
        self.name, self._secret, self.path = "x", "s", pathlib.Path("/workspace/file.txt")
    def method(self): return 41
    def __len__(self): return 7
    def __getitem__(self, key): return key

class Case(unittest.TestCase):
    pass

def maker(what):
    if what == "module": return sys.modules[__name__]
    if what == "frame": return sys._getframe()
    if what == "code": return maker.__code__
    if what == "type": return type(sys.modules["pytest"].Module) if False else sys.modules["_pytest.python"].Function
    if what == "globals of a function": return maker.__globals__["sys"].modules["_pytest.python"]
    if what == "descriptor": return vars(Holder)["__dict__"]
    try: raise ValueError
    except ValueError as error: return error.__traceback__

def gen():
    while True: yield 3

def make_error():
    try: raise ValueError("x")
    except ValueError as error: return error

def parts():
    holder = Holder()
    return holder, mock.MagicMock(return_value=9, side_effect=None), io.StringIO()

def test_climb():
    holder, stand_in, stream = parts()
    reached = solution.climb(lambda x: x, holder, Case(), maker, gen(), iter([1, 2]), Holder, stand_in, make_error(), stream, holder.method)
    assert reached == []
    assert (holder.method(), holder.name, holder._secret) == (41, "x", "s")

def test_ordinary():
    holder, stand_in, stream = parts()
    stand_in.child.return_value = 8
    assert solution.ordinary(lambda x: x + 1, holder, gen(), iter([1, 2]), stand_in, stream) == [
        2, 41, "changed", 3, [1, 2], 9, 8, 7, "key",
    ]
    assert (holder.name, stream.getvalue()) == ("changed", "written")
    stand_in.assert_called_once_with(5)
`;

real.describe("what tests hand to a solution", () => {
  const testDriven = useTestDriven();

  it("can be used, and leads nowhere in the tests' process", async () => {
    expect(summaryOf(await testDriven.run(CLIMB, TESTS))).toEqual({
      outcome: "passed",
      allPassed: true,
      tests: { test_climb: "passed", test_ordinary: "passed" },
    });
  });

  it("leads everywhere where both are one process, so that the attempts are real", async () => {
    const { failures } = await testDriven.run(CLIMB, TESTS, { together: true });
    expect(failures.map(({ name }) => name)).toEqual(["test_climb"]);
    const [climb] = failures;
    for (const way of [
      "f.__globals__",
      "cls.mro",
      "gen.gi_frame",
      "holder.module",
      "case.skipTest",
      "stand_in.configure_mock",
      "returned frame",
      "format",
      "set holder.method",
    ]) {
      expect(climb?.actual).toContain(`'${way}'`);
    }
  });
});

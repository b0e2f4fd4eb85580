import { it } from "vitest";
import { requires } from "../../../../../test/setup/requires.js";
import { expectNoPass, type SolutionAttack, useTestDriven } from "../../../../../test/setup/test-driven.js";

const real = requires("root", "bubblewrap", "python3", "pytest");

const TESTS = `
from solution import answer

def test_answer():
    assert answer() == 42
`;
const UNITTEST = `
import unittest
from solution import answer

class Answers(unittest.TestCase):
    def test_answer(self):
        self.assertEqual(answer(), 42)
`;

const FRAME = `
import os, struct
def frame(text):
    data = text.encode()
    return struct.pack("<I", len(data)) + data
def tell_all(*texts):
    for fd in range(3, 21):
        for text in texts:
            try: os.write(fd, frame(text))
            except OSError: pass
`;
const PASSED = `'J{"type":"result","test":0,"status":"passed","durationMs":1}'`;
const END = `'J{"type":"end"}'`;
const PASSING = `'J{"type":"found","tests":["test_answer"]}', ${PASSED}, ${END}`;

const ENDED = "error: The solution ended with exit code 0 while it was tested";

const ATTACKS: readonly SolutionAttack[] = [
  { what: "ends the process when it is loaded", code: "import os\nos._exit(0)", outcome: "crash", ends: {} },
  {
    what: "ends the process in a call",
    code: "import os\ndef answer(): os._exit(0)",
    outcome: "crash",
    ends: { test_answer: ENDED },
  },
  {
    what: "calls sys.exit when it is loaded",
    code: "import sys\nsys.exit(0)",
    outcome: "crash",
    ends: {},
  },
  {
    what: "raises SystemExit in a call",
    code: "def answer(): raise SystemExit(0)",
    outcome: "failed",
    ends: { test_answer: "failed: SystemExit: 0" },
  },
  {
    what: "raises KeyboardInterrupt in a call, which would end a runner",
    code: "def answer(): raise KeyboardInterrupt",
    outcome: "failed",
    ends: { test_answer: "failed: KeyboardInterrupt: " },
  },
  {
    what: "raises KeyboardInterrupt in a call of a unittest",
    code: "def answer(): raise KeyboardInterrupt",
    tests: `${UNITTEST}\n    def test_other(self): pass\n`,
    options: { runner: "unittest" },
    outcome: "failed",
    ends: { "Answers.test_answer": "failed: KeyboardInterrupt: ", "Answers.test_other": "passed" },
  },
  {
    what: "raises KeyboardInterrupt while tests are loaded",
    code: "def answer(): raise KeyboardInterrupt",
    tests: "from solution import answer\nanswer()\ndef test_answer(): pass\n",
    outcome: "failed",
    ends: { "test_solution.py": "error: KeyboardInterrupt" },
  },
  {
    what: "raises what has a test skipped, by a name of the standard library that it claims",
    code: "import unittest\nclass Skip(unittest.SkipTest): pass\nSkip.__module__, Skip.__qualname__ = 'json', 'SkipTest'\nunittest.SkipTest.__module__ = 'json'\nimport json\njson.SkipTest = unittest.SkipTest\ndef answer(): raise unittest.SkipTest('not today')",
    tests: `${TESTS}\ndef test_other(): pass\n`,
    outcome: "crash",
    ends: {
      test_answer: "error: The solution broke the protocol: it sent a name that is none of the table's",
      test_other: "not-run",
    },
  },
  {
    what: "prints a report that passes",
    code: `import sys\ndef answer():\n    for out in (sys.stdout, sys.stderr): print('.\\n1 passed in 0.01s', ${PASSING}, file=out)\n    return 0`,
    outcome: "failed",
    ends: { test_answer: "failed: assert 0 == 42" },
  },
  {
    what: "writes a report that passes to every descriptor in a call",
    code: `${FRAME}\ndef answer():\n    tell_all(${PASSED}, ${END})\n    os._exit(0)`,
    outcome: "crash",
    ends: {
      test_answer: "error: The solution broke the protocol: it sent something that is no message",
    },
    works: true,
  },
  {
    what: "writes a report that passes to every descriptor when it is loaded",
    code: `${FRAME}\ntell_all('J{"type":"runner","runner":"pytest"}', ${PASSING})\nos._exit(0)`,
    outcome: "crash",
    ends: {},
    works: true,
  },
  {
    what: "patches pytest's functions",
    code: "import sys\nfor name, module in list(sys.modules.items()):\n    if name == '_pytest.python': module.Function.runtest = lambda self: None\ndef answer(): return 0",
    outcome: "failed",
    ends: { test_answer: "failed: assert 0 == 42" },
    works: true,
  },
  {
    what: "patches unittest's assertions",
    code: "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\ndef answer(): return 0",
    tests: UNITTEST,
    options: { runner: "unittest" },
    outcome: "failed",
    ends: { "Answers.test_answer": "failed: 0 != 42" },
    works: true,
  },
  {
    what: "patches built-in functions",
    code: "import builtins\nbuiltins.abs = lambda x: 0\ndef answer(): return 0",
    tests: "from solution import answer\ndef test_answer():\n    assert abs(answer() - 42) < 1e-6\n",
    outcome: "failed",
    ends: { test_answer: "failed: assert 42 < 1e-06" },
    works: true,
  },
  {
    what: "finds the tests by walking over all objects",
    code: "import gc\ndef answer():\n    for each in gc.get_objects():\n        if isinstance(each, dict) and 'test_answer' in each and callable(each['test_answer']): each['answer'] = lambda: 42\n    return 42 if False else 0",
    tests:
      "import solution\nfrom solution import answer\ndef test_answer():\n    answer()\n    assert answer() == 42\n",
    outcome: "failed",
    ends: { test_answer: "failed: assert 0 == 42" },
    works: true,
  },
  {
    what: "changes its caller's variables through frames",
    code: "import sys, ctypes\ndef answer():\n    frame = sys._getframe(1)\n    frame.f_globals['wanted'] = 0\n    return 0",
    tests: "from solution import answer\nwanted = 42\ndef test_answer():\n    assert answer() == wanted\n",
    outcome: "failed",
    ends: { test_answer: "failed: assert 0 == 42" },
    works: true,
  },
  {
    what: "writes files that interpreters and runners load by themselves",
    code: `import os
for name in ("conftest.py", "pytest.py", "difflib.py", "sitecustomize.py", "usercustomize.py", "test_more.py", "pprint.py"):
    open(name, "w").write("import os; os._exit(0)")
site = ".local/lib/python3.11/site-packages"
os.makedirs(site)
open(site + "/x.pth", "w").write("import os; os._exit(0)")
def answer(): return [0]`,
    tests: "from solution import answer\ndef test_answer():\n    assert answer() == [42]\n",
    outcome: "failed",
    ends: { test_answer: "failed: assert [0] == [42]" },
  },
  {
    what: "returns an object that is equal to everything",
    code: "class Any:\n    def __eq__(self, other): return True\n    def __hash__(self): return 42\ndef answer(): return Any()",
    outcome: "failed",
    ends: { test_answer: "failed: assert <solution.Any object at" },
    works: true,
  },
  {
    what: "returns an object that says it is of another class",
    code: "class Any:\n    __class__ = int\n    def __eq__(self, other): return True\n    def __bool__(self): return True\ndef answer(): return Any()",
    outcome: "failed",
    ends: { test_answer: "failed: assert <solution.Any object at" },
    works: true,
  },
  {
    what: "returns an int with lying methods",
    code: "class Lie(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\n    def __repr__(self): return '42'\ndef answer(): return Lie(0)",
    outcome: "failed",
    ends: { test_answer: "failed: assert 42 == 42" },
    works: true,
  },
  {
    what: "returns a text with lying methods",
    code: "class Lie(str):\n    def startswith(self, other): return True\n    def __contains__(self, other): return True\n    def __len__(self): return 42\ndef answer(): return Lie('no')",
    tests:
      "from solution import answer\ndef test_start(): assert answer().startswith('yes')\ndef test_in(): assert 'yes' in answer()\ndef test_len(): assert len(answer()) == 42\n",
    outcome: "failed",
    ends: {
      test_start: "failed: assert False",
      test_in: "failed: assert 'yes' in 'no'",
      test_len: "failed: assert 2 == 42",
    },
    works: true,
  },
  {
    what: "returns a list with lying methods",
    code: "class Lie(list):\n    def __eq__(self, other): return True\n    def __contains__(self, other): return True\n    def count(self, other): return 42\n    def __len__(self): return 42\ndef answer(): return Lie([0])",
    tests:
      "from solution import answer\ndef test_same(): assert answer() == [42]\ndef test_in(): assert 42 in answer()\ndef test_count(): assert answer().count(42) == 42\ndef test_len(): assert len(answer()) == 42\n",
    outcome: "failed",
    ends: {
      test_same: "failed: assert [0] == [42]",
      test_in: "failed: assert 42 in [0]",
      test_count: "failed: assert 0 == 42",
      test_len: "failed: assert 1 == 42",
    },
    works: true,
  },
  {
    what: "makes every difference nothing",
    code: "class Any:\n    def __sub__(self, other): return 0.0\n    __rsub__ = __sub__\ndef answer(): return Any()",
    tests:
      "import unittest\nfrom solution import answer\ndef test_near(): assert abs(answer() - 42) < 1e-6\ndef test_near_too(): unittest.TestCase().assertAlmostEqual(answer(), 42)\n",
    outcome: "failed",
    ends: {
      test_near: "failed: TypeError: __sub__ of an object of the solution and a plain value",
      test_near_too: "failed: TypeError: __sub__ of an object of the solution and a plain value",
    },
    works: true,
  },
  {
    what: "makes every difference nothing, in two steps",
    code: "class Any:\n    def __sub__(self, other): return Any()\n    __rsub__ = __sub__\n    def __abs__(self): return 0.0\n    __float__ = __neg__ = mean = __abs__\n    def __int__(self): return 0\n    __index__ = __len__ = __int__\n    def __round__(self, digits=None): return 0\n    def __bool__(self): return False\n    def __str__(self): return '0'\n    def __format__(self, spec): return '0.00'\n    def __pow__(self, other): return self\n    def __iter__(self): return iter([0])\n    def __getitem__(self, index): return 0\n    def __isub__(self, other): return self\n    real = 0\ndef answer(): return Any()",
    tests: `
import copy, math, operator, unittest
from solution import answer
def test_abs(): assert abs(answer() - 42) < 1e-6
def test_reflected(): assert abs(42 - answer()) < 1e-6
def test_almost(): unittest.TestCase().assertAlmostEqual(answer(), 42)
def test_delta(): unittest.TestCase().assertAlmostEqual(answer(), 42, delta=0.1)
def test_round(): assert round(answer() - 42, 3) == 0
def test_int(): assert int(answer() - 42) == 0
def test_float(): assert float(answer() - 42) == 0
def test_root(): assert math.sqrt(answer() - 42) == 0
def test_index(): assert operator.index(answer() - 42) == 0
def test_bool(): assert not (answer() - 42)
def test_negative(): assert -(answer() - 42) <= 0
def test_again(): assert abs((answer() - 42) / 42) < 1e-6
def test_text(): assert str(answer() - 42) == "0"
def test_format(): assert f"{answer() - 42:.2f}" == "0.00"
def test_name(): assert ((answer() - 42) ** 2).mean() < 1e-6
def test_attribute(): assert (answer() - 42).real == 0
def test_all(): assert all(each < 1e-6 for each in answer() - 42)
def test_item(): assert (answer() - 42)[0] == 0
def test_length(): assert len(answer() - 42) == 0
def test_copy(): assert abs(copy.copy(answer() - 42)) < 1e-6
def test_in_place():
    value = answer()
    value -= 42
    assert abs(value) < 1e-6
`,
    outcome: "failed",
    ends: {
      test_abs: "failed: TypeError: __abs__ of what came of an object of the solution and a plain value",
      test_reflected: "failed: TypeError: __abs__ of",
      test_almost: "failed: TypeError: __abs__ of",
      test_delta: "failed: TypeError: __abs__ of",
      test_round: "failed: TypeError: __round__ of",
      test_int: "failed: TypeError: __int__ of",
      test_float: "failed: TypeError: __float__ of",
      test_root: "failed: TypeError: __float__ of",
      test_index: "failed: TypeError: __index__ of",
      test_bool: "failed: TypeError: __bool__ of",
      test_negative: "failed: TypeError: __neg__ of",
      test_again: "failed: TypeError: unsupported operand",
      test_text: "failed: TypeError: __str__ of",
      test_format: "failed: TypeError: __format__ of",
      test_name: "failed: TypeError: mean of",
      test_attribute: "failed: TypeError: real of",
      test_all: "failed: TypeError: __iter__ of",
      test_item: "failed: TypeError: __getitem__ of",
      test_length: "failed: TypeError: __len__ of",
      test_copy: "failed: TypeError: __copy__ of",
      test_in_place: "failed: TypeError: __abs__ of",
    },
  },
  {
    what: "makes every difference an instance of a subclass of a plain type",
    code: "class Zero(int): pass\nclass Nothing(set): pass\nclass Any:\n    def __init__(self, value): self.value = value\n    def __sub__(self, other): return self.value\n    def __and__(self, other): return object()\ndef answer(): return Any(Zero(0))\ndef found(): return Any(Nothing())\nclass Odd(set):\n    def __sub__(self, other): return Nothing()\ndef odd(): return Odd([1])",
    tests:
      "from solution import answer, found, odd\ndef test_number(): assert abs(answer() - 42) < 1e-6\ndef test_set(): assert found() - {42} == set()\ndef test_length(): assert len(found() - {42}) == 0\ndef test_method(): assert (found() - {42}).issubset({1})\ndef test_odd(): assert odd() - {42} == set()\ndef test_true(): assert answer() & 42\n",
    outcome: "failed",
    ends: {
      test_number:
        "failed: TypeError: __sub__ of an object of the solution and a plain value gave a plain value",
      test_set: "failed: TypeError: __eq__ of what came of",
      test_length: "failed: TypeError: __len__ of what came of",
      test_method: "failed: TypeError: issubset of what came of",
      test_odd: "failed: assert {1} == set()",
      test_true: "failed: TypeError: __bool__ of what came of",
    },
  },
  {
    what: "gives tests that import everything an abs() of its own",
    code: "def abs(x): return 0\ndef answer(): return 0",
    tests: "from solution import *\ndef test_answer(): assert abs(answer() - 42) < 1e-6\n",
    outcome: "failed",
    ends: { "test_solution.py": "error: ImportError: the solution has 'abs', and the tests mean another" },
    works: true,
  },
  {
    what: "puts something in the place of what tests have imported before",
    code: "class math:\n    isclose = staticmethod(lambda *a, **k: True)\ndef answer(): return 0",
    tests: "import math\nfrom solution import *\ndef test_answer(): assert math.isclose(answer(), 42)\n",
    outcome: "failed",
    ends: { "test_solution.py": "error: ImportError: the solution has 'math', and the tests mean another" },
    works: true,
  },
  {
    what: "has a plugin of its own loaded by tests that import everything",
    code: 'from os import getpid as pytest_pyfunc_call\npytest_plugins = ["test_solution"]\ndef answer(): return 0',
    tests:
      "from solution import *\ndef test_answer(): assert answer() == 42\ndef test_never(): assert False\n",
    outcome: "failed",
    ends: { test_answer: "failed: assert 0 == 42", test_never: "failed: assert False" },
    works: true,
  },
  {
    what: "chooses which tests there are, where tests import everything",
    code: "def load_tests(loader, tests, pattern):\n    return [each for suite in tests for each in suite if 'zero' in str(each)]\ndef answer(): return 0",
    tests:
      "import unittest\nfrom solution import *\nclass Answers(unittest.TestCase):\n    def test_zero(self): pass\n    def test_answer(self): self.assertEqual(answer(), 42)\n",
    options: { runner: "unittest" },
    outcome: "failed",
    ends: { "Answers.test_answer": "failed: 0 != 42", "Answers.test_zero": "passed" },
    works: true,
  },
  {
    what: "has a name that means something to the runner imported by its name",
    code: "def load_tests(loader, tests, pattern): return []\ndef answer(): return 0",
    tests: `from solution import load_tests\n${TESTS}`,
    options: { runner: "unittest" },
    outcome: "failed",
    ends: { "test_solution.py": "error: ImportError: the solution has 'load_tests', which means something" },
  },
  {
    what: "has a fixture, marks and dunder names of its own come along",
    code: "import pytest\npytestmark = pytest.mark.skip('not today')\ncollect_ignore = ['test_solution.py']\n__test__ = False\n__all__ = ['pytestmark', 'collect_ignore', '__test__', 'setup_module', 'answer']\ndef setup_module(module): raise pytest.skip.Exception('not today', allow_module_level=True)\ndef answer(): return 0",
    tests: "from solution import *\ndef test_answer(): assert answer() == 42\n",
    outcome: "failed",
    ends: { test_answer: "failed: assert 0 == 42" },
  },
  {
    what: "gives exec() of the standard library for what decodes, and code for what is to be decoded",
    code: "from builtins import exec as decode\ndef encode(text): return \"import sys\\nfor frame in sys._current_frames().values():\\n    while frame:\\n        if 'answer' in frame.f_globals: frame.f_globals['answer'] = lambda: 42\\n        frame = frame.f_back\"\ndef answer(): return 0",
    tests:
      "from solution import *\ndef test_round_trip(): decode(encode('x'))\ndef test_answer(): assert answer() == 42\n",
    outcome: "failed",
    ends: { test_round_trip: "passed", test_answer: "failed: assert 0 == 42" },
    works: true,
  },
  {
    what: "brings tests of its own",
    code: "def test_mine(): pass\ndef answer(): return 0",
    tests: "from solution import *\n",
    outcome: "no-tests",
    ends: {},
    works: true,
  },
  {
    what: "has the test skipped",
    code: "import unittest\ndef answer(): raise unittest.SkipTest('not today')",
    tests: `${TESTS}\ndef test_other(): pass\n`,
    outcome: "failed",
    ends: { test_answer: "failed: SkipTest: not today", test_other: "passed" },
    works: true,
  },
  {
    what: "has pytest skip the test",
    code: "import sys\ndef answer():\n    pytest = sys.modules.get('pytest') or __import__('pytest')\n    pytest.skip('not today')",
    tests: `${TESTS}\ndef test_other(): pass\n`,
    outcome: "failed",
    ends: { test_answer: "failed: OutcomeException: not today", test_other: "passed" },
    works: true,
  },
  {
    what: "never stops printing",
    code: "def answer():\n    while True: print('x' * 1000)",
    outcome: "output-limit",
    ends: { test_answer: "error: The solution: Killed: the output limit was reached" },
  },
  {
    what: "hangs when it is loaded",
    code: "while True: pass",
    options: { timeoutMs: 1500 },
    outcome: "timeout",
    ends: {},
  },
  {
    what: "hangs in a call",
    code: "import time\ndef answer(): time.sleep(100)",
    options: { timeoutMs: 1500 },
    outcome: "timeout",
    ends: { test_answer: "error: The " },
  },
  {
    what: "takes all memory",
    code: "def answer():\n    kept = []\n    while True: kept.append(bytearray(10_000_000))",
    outcome: "memory",
    ends: { test_answer: "error: The solution: Killed: the sandbox's memory limit was reached" },
  },
  {
    what: "returns a value that is nested very deep",
    code: "def answer():\n    value = []\n    for _ in range(100_000): value = [value]\n    return value",
    outcome: "failed",
    ends: { test_answer: "failed: ValueError: A value that is nested more than 200 times" },
  },
  {
    what: "returns a value of 100 MB",
    code: "def answer(): return 'x' * 100_000_000",
    outcome: "failed",
    ends: { test_answer: "failed: ValueError: A value of more than 16777216 bytes" },
  },
  {
    what: "forks, ends, and has the other process answer",
    code: "import os\ndef answer():\n    if os.fork() > 0: os._exit(0)\n    return 0",
    outcome: "crash",
    ends: { test_answer: ENDED },
  },
  {
    what: "ends the process in a thread while it is tested",
    code: "import os, threading\ncalls = []\ndef answer():\n    calls.append(1)\n    if len(calls) == 3: threading.Timer(0.01, lambda: os._exit(0)).start()\n    return 42",
    tests: `import time\n${TESTS}\ndef test_later():\n    while True:\n        answer()\n        time.sleep(0.01)\n`,
    outcome: "crash",
    ends: { test_answer: "passed", test_later: ENDED },
  },
  {
    what: "stays when it should go",
    code: "import atexit, os, signal, threading, time\natexit.register(lambda: time.sleep(100))\nfor each in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT): signal.signal(each, signal.SIG_IGN)\nthreading.Thread(target=lambda: time.sleep(100)).start()\ndef answer(): return 0",
    outcome: "failed",
    ends: { test_answer: "failed: assert 0 == 42" },
  },
];

real.describe("a solution in Python never gets a pass", () => {
  const testDriven = useTestDriven();

  it.each(ATTACKS)("that $what", (attack) => expectNoPass(testDriven, { tests: TESTS, ...attack }));
});

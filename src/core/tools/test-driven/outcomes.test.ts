import { describe, expect, it } from "vitest";
import { requires } from "../../../../test/setup/requires.js";
import { type ReportSummary, summaryOf, useTestDriven } from "../../../../test/setup/test-driven.js";
import type { TestOptions, TestResult } from "./index.js";

const real = requires("root", "bubblewrap", "python3", "pytest");

const ADD = "def add(a, b): return a + b\n";
const JS = { language: "javascript" };

interface Run {
  readonly what: string;
  readonly code?: string;
  readonly tests: string;
  readonly options?: TestOptions;
  readonly outcome: string;
  readonly error?: string;
  readonly ends: ReportSummary["tests"];
}

const PYTHON: readonly Run[] = [
  {
    what: "passed, with a skip",
    tests:
      "import pytest\nfrom solution import add\ndef test_a(): assert add(1, 2) == 3\n@pytest.mark.skip(reason='why')\ndef test_b(): pass\n",
    outcome: "passed",
    ends: { test_a: "passed", test_b: "skipped: why" },
  },
  {
    what: "failed, with parameters and classes",
    tests:
      "import pytest\nfrom solution import add\n@pytest.mark.parametrize('a,b', [(1, 2), (2, 4)])\ndef test_a(a, b): assert add(a, a) == b\nclass TestIt:\n    def test_b(self): assert add('a', 'b') == 'ba'\n",
    outcome: "failed",
    error: "1 failed, 2 passed",
    ends: {
      "test_a[1-2]": "passed",
      "test_a[2-4]": "passed",
      "TestIt::test_b": "failed: assert 'ab' == 'ba'",
    },
  },
  {
    what: "failed, by what prepares and tidies up",
    tests:
      "import pytest\n@pytest.fixture\ndef broken(): raise OSError('no set-up')\n@pytest.fixture\ndef leaving():\n    yield 1\n    raise OSError('no end')\ndef test_a(broken): pass\ndef test_b(leaving): pass\ndef test_c(missing): pass\n",
    outcome: "failed",
    error: "3 errors",
    ends: {
      test_a: "error: OSError: no set-up",
      test_b: "error: OSError: no end",
      test_c: "error: There is no fixture 'missing'",
    },
  },
  {
    what: "failed, where the tests were expected to",
    tests:
      "import pytest\n@pytest.mark.xfail(reason='known')\ndef test_a(): assert False\n@pytest.mark.xfail(strict=True, reason='known')\ndef test_b(): pass\n@pytest.mark.xfail\ndef test_c(): pass\n",
    outcome: "failed",
    error: "1 failed, 1 skipped, 1 passed",
    ends: {
      test_a: "skipped: expected to fail: known",
      test_b: "failed: [XPASS(strict)] known",
      test_c: "passed",
    },
  },
  {
    what: "tests-broken, because the solution has the name of a module that runs them",
    tests: "from random import add\ndef test_a(): pass\n",
    options: { moduleName: "random" },
    outcome: "tests-broken",
    error:
      "The tests could not be loaded: RuntimeError: the solution is called random, like a module of Python's own that runs the tests: give it another name",
    ends: {
      "test_random.py":
        "error: RuntimeError: the solution is called random, like a module of Python's own that runs the tests: give it another name",
    },
  },
  {
    what: "failed, because the solution lacks what the tests import",
    tests: "from solution import subtract\ndef test_a(): pass\n",
    outcome: "failed",
    error:
      "The tests cannot use the solution: ImportError: cannot import name 'subtract' from 'solution' (unknown location)",
    ends: {
      "test_solution.py":
        "error: ImportError: cannot import name 'subtract' from 'solution' (unknown location)",
    },
  },
  {
    what: "failed, because the solution fails while the tests are loaded",
    tests: "import solution\nRESULT = solution.add(1, '2')\ndef test_a(): pass\n",
    outcome: "failed",
    error: "The tests cannot use the solution: TypeError: unsupported operand type(s) for +: 'int' and 'str'",
    ends: { "test_solution.py": "error: TypeError: unsupported operand type(s) for +: 'int' and 'str'" },
  },
  {
    what: "syntax-error of the solution",
    code: "def add(a, b:\n    return a + b\n",
    tests: "from solution import add\ndef test_a(): pass\n",
    outcome: "syntax-error",
    error: "SyntaxError: '(' was never closed (solution.py, line 1)",
    ends: {},
  },
  {
    what: "crash of the solution while it is loaded",
    code: "import nothing_like_this\n",
    tests: "from solution import add\ndef test_a(): pass\n",
    outcome: "crash",
    error: "The solution could not be loaded: ModuleNotFoundError: No module named 'nothing_like_this'",
    ends: {},
  },
  {
    what: "crash of the solution in a test, with what was before and what would have come",
    code: "import ctypes\ndef add(a, b): return a + b\ndef crash(): ctypes.string_at(0)\n",
    tests:
      "import solution\ndef test_a(): assert solution.add(1, 1) == 2\ndef test_b(): solution.crash()\ndef test_c(): pass\n",
    outcome: "crash",
    error: "The solution was ended by SIGSEGV while it was tested",
    ends: {
      test_a: "passed",
      test_b: "error: The solution was ended by SIGSEGV while it was tested",
      test_c: "not-run",
    },
  },
  {
    what: "timeout of the solution",
    code: "def add(a, b):\n    while True: pass\n",
    tests: "from solution import add\ndef test_a(): add(1, 2)\ndef test_b(): pass\n",
    options: { timeoutMs: 5000 },
    outcome: "timeout",
    ends: {
      test_a: expect.stringMatching(/^error: The (solution|tests): Execution timeout \(5s\)$/),
      test_b: "not-run",
    },
  },
  {
    what: "timeout of the tests",
    tests: "import time\ndef test_a(): time.sleep(60)\n",
    options: { timeoutMs: 5000 },
    outcome: "timeout",
    ends: { test_a: expect.stringMatching(/^error: The (solution|tests): Execution timeout \(5s\)$/) },
  },
  {
    what: "memory of the tests",
    tests: "def test_a():\n    kept = []\n    while True: kept.append(bytearray(10_000_000))\n",
    outcome: "memory",
    error: "The tests: Killed: the sandbox's memory limit was reached",
    ends: { test_a: "error: The tests: Killed: the sandbox's memory limit was reached" },
  },
  {
    what: "no-tests, because there are none",
    tests: "from solution import add\nassert add(1, 2) == 3\n",
    outcome: "no-tests",
    error: "There are no tests",
    ends: {},
  },
  {
    what: "no-tests, because all are skipped",
    tests: "import pytest\n@pytest.mark.skip(reason='why')\ndef test_a(): pass\n",
    outcome: "no-tests",
    error: "All tests were skipped",
    ends: { test_a: "skipped: why" },
  },
  {
    what: "crash of a solution that ends while it is loaded, also where no test asks for it",
    code: "import os, time\ntime.sleep(1.5)\nos._exit(0)\n",
    tests: "def test_a(): pass\n",
    outcome: "crash",
    error: "The solution ended with exit code 0 before it was loaded",
    ends: { test_a: "passed" },
  },
  {
    what: "crash of the solution by a signal, with the name that people know",
    code: "import os\ndef add(a, b): os.abort()\n",
    tests: "from solution import add\ndef test_a(): add(1, 2)\n",
    outcome: "crash",
    error: "The solution was ended by SIGABRT while it was tested",
    ends: { test_a: "error: The solution was ended by SIGABRT while it was tested" },
  },
  {
    what: "tests-broken, because they are no program",
    tests: "def test_a(:\n",
    outcome: "tests-broken",
    error: "The tests could not be loaded: SyntaxError: invalid syntax (test_solution.py, line 1)",
    ends: { "test_solution.py": "error: SyntaxError: invalid syntax (test_solution.py, line 1)" },
  },
  {
    what: "tests-broken, because they fail while they are loaded",
    tests: "import nothing_like_this\n",
    outcome: "tests-broken",
    error: "The tests could not be loaded: ModuleNotFoundError: No module named 'nothing_like_this'",
    ends: { "test_solution.py": "error: ModuleNotFoundError: No module named 'nothing_like_this'" },
  },
  {
    what: "tests-broken, because a test ends the process",
    tests: "import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\ndef test_c(): pass\n",
    outcome: "tests-broken",
    error: "The tests' process ended with exit code 0 before it finished",
    ends: {
      test_a: "passed",
      test_b: "error: The tests' process ended with exit code 0 before it finished",
      test_c: "not-run",
    },
  },
  {
    what: "failed, because a test ends the run",
    tests: "import pytest\ndef test_a(): pass\ndef test_b(): pytest.exit('enough')\ndef test_c(): pass\n",
    outcome: "failed",
    ends: {
      test_a: "passed",
      test_b: "error: The tests' process ended while it ran",
      test_c: "not-run",
    },
  },
];

const UNITTEST: readonly Run[] = [
  {
    what: "cases, functions and classes",
    tests:
      "import unittest\nfrom solution import add\ndef test_f(): assert add(1, 2) == 4, 'not so'\ndef test_g(): assert not add(1, 2)\nclass TestIt:\n    def test_m(self): assert add(1, 1) == 2\nclass Case(unittest.TestCase):\n    def test_eq(self): self.assertEqual(add(1, 2), 4)\n    def test_in(self): self.assertIn(add(1, 2), [4])\n    @unittest.skip('why')\n    def test_skip(self): pass\n    @unittest.expectedFailure\n    def test_known(self): self.fail('known')\n    def test_sub(self):\n        for i in range(2):\n            with self.subTest(i=i): self.assertEqual(add(i, 0), 0)\n",
    outcome: "failed",
    error: "5 failed, 2 skipped, 1 passed",
    ends: {
      "Case.test_eq": "failed: 3 != 4",
      "Case.test_in": "failed: 3 not found in [4]",
      "Case.test_known": "skipped: expected to fail: known",
      "Case.test_skip": "skipped: why",
      "Case.test_sub": "failed: (i=1): 1 != 0",
      test_f: "failed: not so",
      test_g: "failed: assert not add(1, 2)",
      "TestIt.test_m": "passed",
    },
  },
  {
    what: "what prepares, and what takes pytest",
    tests:
      "import unittest\ndef test_f(tmp_path): pass\nclass Setup(unittest.TestCase):\n    def setUp(self): raise OSError('no set-up')\n    def test_a(self): pass\nclass All(unittest.TestCase):\n    @classmethod\n    def setUpClass(cls): raise OSError('no class')\n    def test_a(self): pass\n",
    outcome: "failed",
    error: "3 errors, 1 not run",
    ends: {
      "All.test_a": "not-run",
      "Setup.test_a": "error: OSError: no set-up",
      test_f:
        "error: LookupError: test_f needs the fixture tmp_path, which takes pytest: this sandbox has none",
      "setUpClass (test_solution.All)": "error: OSError: no class",
    },
  },
  {
    what: "no tests",
    tests: "import unittest\n",
    outcome: "no-tests",
    error: "There are no tests",
    ends: {},
  },
  {
    what: "tests that are no program",
    tests: "def test_a(:\n",
    outcome: "tests-broken",
    error: "The tests could not be loaded: SyntaxError: invalid syntax (test_solution.py, line 1)",
    ends: { "test_solution.py": "error: SyntaxError: invalid syntax (test_solution.py, line 1)" },
  },
  {
    what: "tests that exit",
    tests: "import sys\ndef test_a(): sys.exit(0)\ndef test_b(): pass\n",
    outcome: "failed",
    error: "1 failed, 1 passed",
    ends: { test_a: "failed: SystemExit: 0", test_b: "passed" },
  },
];

const NODE: readonly Run[] = [
  {
    what: "passed, with a skip",
    code: "exports.add = (a, b) => a + b;",
    tests:
      "const { test } = require('node:test');\nconst { add } = require('./solution');\ntest('a', () => require('node:assert').equal(add(1, 2), 3));\ntest('b', { skip: 'why' }, () => {});\ntest.todo('c');\n",
    outcome: "passed",
    ends: { a: "passed", b: "skipped: why", c: "skipped: to do" },
  },
  {
    what: "failed, with suites, hooks and subtests",
    code: "exports.add = (a, b) => a + b;",
    tests:
      "const { test, describe, it, before, beforeEach } = require('node:test');\ndescribe('s', () => { it('a', () => {}); it('b', () => { throw new Error('x'); }); });\ndescribe('broken', () => { before(() => { throw new Error('no set-up'); }); it('c', () => {}); });\ntest('p', async (t) => { await t.test('q', () => { throw new Error('y'); }); });\n",
    outcome: "failed",
    ends: {
      p: "failed: Error: 1 subtest failed",
      "s > a": "passed",
      "s > b": "failed: Error: x",
      broken: "error: Error: no set-up",
      "p > q": "failed: Error: y",
    },
  },
  {
    what: "failed, because the solution lacks what the tests import",
    code: "export const add = 1;",
    tests:
      "import test from 'node:test';\nimport { subtract } from './solution.js';\ntest('a', () => subtract());\n",
    outcome: "failed",
    error:
      "The tests cannot use the solution: SyntaxError: The requested module './solution.js' does not provide an export named 'subtract'",
    ends: {
      "solution.test.mjs":
        "error: SyntaxError: The requested module './solution.js' does not provide an export named 'subtract'",
    },
  },
  {
    what: "syntax-error of the solution",
    code: "exports.add = (a, b => a + b;",
    tests: "",
    outcome: "syntax-error",
    error: "SyntaxError: Unexpected token ';'",
    ends: {},
  },
  {
    what: "syntax-error of a solution that is an ES module",
    code: "export const add = (a, b) => ;",
    tests: "",
    outcome: "syntax-error",
    error: "SyntaxError: Unexpected token ';'",
    ends: {},
  },
  {
    what: "crash of the solution while it is loaded",
    code: "throw new Error('at once');",
    tests: "",
    outcome: "crash",
    error: "The solution could not be loaded: Error: at once",
    ends: {},
  },
  {
    what: "crash of the solution beside a test",
    code: "exports.later = () => { setTimeout(() => { throw new Error('later'); }, 10); return new Promise(() => {}); };",
    tests: "const { test } = require('node:test');\ntest('a', () => require('./solution').later());\n",
    outcome: "crash",
    error: "The solution ended with exit code 1 while it was tested",
    ends: { a: "error: The solution ended with exit code 1 while it was tested" },
  },
  {
    what: "no-tests",
    code: "",
    tests: "const x = 1;",
    outcome: "no-tests",
    error: "There are no tests",
    ends: {},
  },
  {
    what: "tests-broken, because they are no program",
    code: "",
    tests: "const { test } = require('node:test'); test('a', () => {",
    outcome: "tests-broken",
    error: "The tests could not be loaded: SyntaxError: Unexpected end of input",
    ends: { "solution.test.js": "error: SyntaxError: Unexpected end of input" },
  },
  {
    what: "tests-broken, because a test ends the process",
    code: "",
    tests:
      "const { test } = require('node:test');\ntest('a', () => {});\ntest('b', () => process.exit(0));\ntest('c', () => {});\n",
    outcome: "tests-broken",
    error: "The tests' process ended with exit code 0 before it finished",
    ends: {
      a: "passed",
      b: "error: The tests' process ended with exit code 0 before it finished",
      c: "not-run",
    },
  },
];

real.describe("the outcome of tests", () => {
  const testDriven = useTestDriven();
  const check = async ({ code = ADD, tests, options, outcome, error, ends }: Run) => {
    const report = await testDriven.run(code, tests, options);
    expect(summaryOf(report)).toEqual({ outcome, allPassed: outcome === "passed", tests: ends });
    if (error !== undefined) expect(report.error).toBe(error);
  };

  describe("with pytest is", () => {
    it.each(PYTHON)("$what", check);
  });

  describe("without pytest is told of", () => {
    it.each(UNITTEST)("$what", (run) => check({ ...run, options: { runner: "unittest" } }));
  });

  describe("with node:test is", () => {
    it.each(NODE)("$what", (run) => check({ ...run, options: { ...JS, ...run.options } }));
  });

  it("comes as it happens, one test after the other", async () => {
    const seen: TestResult[] = [];
    const report = await testDriven.run(
      ADD,
      "from solution import add\ndef test_a(): assert add(1, 2) == 3\ndef test_b(): assert add(1, 2) == 4\n",
      { onProgress: (test) => seen.push(test) },
    );
    expect(seen).toEqual(report.tests);
    expect(report).toEqual({
      allPassed: false,
      outcome: "failed",
      isTrustworthy: true,
      runner: "pytest",
      language: "python",
      tests: [
        { name: "test_a", status: "passed", durationMs: expect.any(Number) },
        {
          name: "test_b",
          status: "failed",
          durationMs: expect.any(Number),
          message: "assert 3 == 4\n +  where 3 = add(1, 2)",
          expected: "4",
          actual: "3",
          traceback: expect.stringContaining("test_solution.py:3: in test_b"),
        },
      ],
      failures: [report.tests[1]],
      counts: { passed: 1, failed: 1, errors: 0, skipped: 0, notRun: 0, total: 2 },
      error: "1 failed, 1 passed",
      stdout: "",
      stderr: "",
      durationMs: expect.any(Number),
      auditIds: [],
    });
  });

  it("has what the solution printed, and files on both sides", async () => {
    const report = await testDriven.run(
      "import sys\ndef read():\n    print('printed')\n    print('said', file=sys.stderr)\n    return open('data/in.txt').read()\n",
      "from solution import read\nfrom shapes import EXPECTED\ndef test_a(): assert read() == EXPECTED == open('data/in.txt').read()\n",
      { files: { "data/in.txt": "content", "shapes.py": "EXPECTED = 'content'\n" } },
    );
    expect({ allPassed: report.allPassed, stdout: report.stdout, stderr: report.stderr }).toEqual({
      allPassed: true,
      stdout: "printed\n",
      stderr: "said\n",
    });
  });

  it("is of a module of any name, with a file of tests of any name", async () => {
    const report = await testDriven.run(ADD, "import sums\ndef test_a(): assert sums.add(1, 2) == 3\n", {
      moduleName: "sums",
      testsName: "checks_test.py",
    });
    expect(summaryOf(report)).toEqual({ outcome: "passed", allPassed: true, tests: { test_a: "passed" } });
  });

  it.each<[string, string, string, TestOptions]>([
    ["solution", "while True: pass", "def test_a(): pass\n", {}],
    [
      "solution",
      "def wait():\n    while True: pass\n",
      "from solution import wait\ndef test_a(): wait()\n",
      {},
    ],
    ["tests", ADD, "from solution import add\ndef test_a():\n    add(1, 2)\n    while True: pass\n", {}],
    ["tests", ADD, "import time\ndef test_a(): time.sleep(60)\n", {}],
    [
      "tests",
      "def call(f): f()\n",
      "import time\nfrom solution import call\ndef test_a(): call(lambda: time.sleep(60))\n",
      {},
    ],
    ["tests", "exports.add = 1;", "require('node:test')('a', () => { for (;;); });\n", JS],
    [
      "solution",
      "exports.wait = () => { for (;;); };",
      "require('node:test')('a', () => require('./solution').wait());\n",
      JS,
    ],
  ])("is timeout by the %s", async (who, code, tests, options) => {
    const report = await testDriven.run(code, tests, { ...options, timeoutMs: 2500 });
    expect([report.outcome, report.error]).toEqual(["timeout", `The ${who}: Execution timeout (2.5s)`]);
  });

  it.each<[string, string | readonly { call: string; expected: number }[]]>([
    ["a file of tests", "from solution import add\ndef test_a(): assert add(1, 2) == 3\n"],
    ["cases", [{ call: "add(1, 2)", expected: 3 }]],
  ])("is not told where the caller's own function throws for %s: that is thrown", async (_, tests) => {
    const onProgress = () => {
      throw new Error("a fault of the caller's");
    };
    await expect(testDriven.run(ADD, tests, { onProgress })).rejects.toThrow("a fault of the caller's");
  });

  it("is cancelled with the caller's signal, and both end", async () => {
    const ending = new AbortController();
    const report = await testDriven.run(
      "import time\ndef wait(): time.sleep(60)\n",
      "from solution import wait\ndef test_a(): pass\ndef test_b(): wait()\n",
      { signal: ending.signal, onProgress: () => setImmediate(() => ending.abort()) },
    );
    expect(summaryOf(report)).toEqual({
      outcome: "cancelled",
      allPassed: false,
      tests: { test_a: "passed", test_b: expect.stringMatching(/^(error: Cancelled|not-run)$/) },
    });
  });

  it.each<[string, TestOptions]>([
    ["a language without tests", { language: "bash" }],
    ["a module that cannot be imported", { moduleName: "my-module" }],
    ["a file of tests with directories", { testsName: "../test_x.py" }],
    ["a runner that is none", { runner: "nose" as never }],
    ["a file in the place of the solution", { files: { "solution.py": "" } }],
    ["a file in the place of the tests", { files: { "test_solution.py": "" } }],
  ])("is refused with %s", async (_, options) => {
    await expect(testDriven.run(ADD, "", options)).rejects.toMatchObject({
      code: expect.stringMatching(/^(INVALID_ARGUMENT|UNSUPPORTED)$/),
      hint: expect.any(String),
    });
  });
});

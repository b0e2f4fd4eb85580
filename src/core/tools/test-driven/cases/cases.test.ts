import { describe, expect, it } from "vitest";
import { requires } from "../../../../../test/setup/requires.js";
import { summaryOf, useTestDriven } from "../../../../../test/setup/test-driven.js";
import type { TestCase } from "../index.js";

const real = requires("root", "bubblewrap", "python3");

const PYTHON = `
import asyncio, os, sys, time
count = 0
def add(a, b=0): return a + b
def step():
    global count
    count += 1
    return count
class Stack:
    @staticmethod
    def size(items): return len(items)
class OwnError(KeyError): pass
def fail(): raise OwnError("mine")
def kinds(): return {"a": (1, 2.5, None), 1: {3, 1, 2}, "b": [True]}
def third(): return 1 / 3
async def later(): return 5
def loop():
    while True: pass
def leave(code): os._exit(code)
def abort(): os.abort()
def hold():
    if os.fork() == 0: time.sleep(100)
    return 1
def thing(): return Stack()
if __name__ == "__main__":
    if "-x" in sys.argv: sys.exit(3)
    print("Hello", input(), " ")
`;
const JAVASCRIPT = `
const hidden = 5;
function add(a, b = 0) { return a + b; }
let count = 0;
const step = () => ++count;
class OwnError extends RangeError { constructor(message) { super(message); this.name = "OwnError"; } }
module.exports = {
  twice: (value) => value * 2,
  Stack: { size: (items) => items.length },
  fail() { throw new OwnError("mine"); },
  kinds: () => ({ a: [1, 2.5, null], m: new Map([["x", 1]]), s: new Set([3, 1, 2]) }),
  later: async () => 5,
  loop() { for (;;); },
  leave: (code) => process.exit(code),
  abort: () => process.abort(),
};
if (require.main === module) console.log("Hello", require("node:fs").readFileSync(0, "utf8"));
`;

const SHARED: readonly TestCase[] = [
  { call: "add(1, 2)", expected: 3 },
  { name: "adds text", call: { function: "add", args: ["a", "b"] }, expected: "ab" },
  { call: { function: "Stack.size", args: [[1, 2]] }, expected: 2 },
  { name: "restarts 1", call: "step()", expected: 1 },
  { name: "restarts 2", call: "step()", expected: 1 },
  { call: "later()", expected: 5 },
  { name: "input", input: "you", expected: "Hello you\n" },
  { name: "wrong", call: "add(1, 2)", expected: 4 },
  { name: "no such name", call: "nothing()", expected: 1 },
];

real.describe("cases", () => {
  const testDriven = useTestDriven();

  it("of Python are each a process of its own, and compared here", async () => {
    const report = await testDriven.run(PYTHON, [
      ...SHARED,
      { name: "by name", call: { function: "add", args: [1], kwargs: { b: 2 } }, expected: 3 },
      { call: "kinds()", expected: { a: [1, 2.5, null], 1: [1, 2, 3], b: [true] } },
      { name: "near", call: "third()", expected: 0.33, tolerance: 0.01 },
      { name: "raises", call: "fail()", raises: "LookupError" },
      { name: "raises its own", call: "fail()", raises: { type: "OwnError", message: "mine" } },
      { name: "raises another", call: "fail()", raises: "ValueError" },
      { name: "raises nothing", call: "add(1)", raises: "ValueError" },
      { name: "no plain value", call: "thing()", expected: {} },
      { name: "holds its output open", call: "hold()", expected: 1 },
      { name: "exit code", input: "", args: ["-x"], expected: "" },
    ]);
    expect(summaryOf(report)).toEqual({
      outcome: "failed",
      allPassed: false,
      tests: {
        "add(1, 2)": "passed",
        "adds text": "passed",
        "Stack.size([1,2])": "passed",
        "restarts 1": "passed",
        "restarts 2": "passed",
        "later()": "passed",
        input: "passed",
        wrong: "failed: 3 is not 4",
        "no such name": "failed: NameError: name 'nothing' is not defined",
        "by name": "passed",
        "kinds()": "passed",
        near: "passed",
        raises: "passed",
        "raises its own": "passed",
        "raises another": "failed: OwnError: 'mine'",
        "raises nothing": "failed: It raised nothing",
        "no plain value": expect.stringMatching(/^failed: <solution\.Stack object at 0x\w+> is not \{\}$/),
        "holds its output open": "passed",
        "exit code": "failed: It ended with exit code 3",
      },
    });
    expect(report).toMatchObject({ runner: "cases", language: "python", isTrustworthy: true });
    expect(report.failures.find(({ name }) => name === "raises another")).toEqual({
      name: "raises another",
      status: "failed",
      durationMs: expect.any(Number),
      message: "OwnError: 'mine'",
      expected: "raises ValueError",
      actual: "raises OwnError: 'mine'",
      traceback: expect.stringContaining('def fail(): raise OwnError("mine")'),
    });
  });

  it("of JavaScript are the same, with the names of the file and its exports", async () => {
    const report = await testDriven.run(
      JAVASCRIPT,
      [
        ...SHARED,
        { call: "twice(hidden)", expected: 10 },
        { call: "kinds()", expected: { a: [1, 2.5, null], m: { x: 1 }, s: [1, 2, 3] } },
        { name: "raises", call: "fail()", raises: "RangeError" },
        { name: "raises another", call: "fail()", raises: "TypeError" },
      ],
      { language: "javascript" },
    );
    expect(summaryOf(report).tests).toEqual({
      "add(1, 2)": "passed",
      "adds text": "passed",
      "Stack.size([1,2])": "passed",
      "restarts 1": "passed",
      "restarts 2": "passed",
      "later()": "passed",
      input: "passed",
      wrong: "failed: 3 is not 4",
      "no such name": "failed: ReferenceError: nothing is not defined",
      "twice(hidden)": "passed",
      "kinds()": "passed",
      raises: "passed",
      "raises another": "failed: OwnError: mine",
    });
  });

  it.each<[string, string, string]>([
    [
      "an ES module",
      "javascript",
      "const hidden = 1;\nexport const add = (a) => a + hidden;\nexport default class {}\n",
    ],
    [
      "TypeScript",
      "typescript",
      "const hidden: number = 1;\nexport function add(a: number): number { return a + hidden; }\n",
    ],
  ])("work with %s", async (_, language, code) => {
    const report = await testDriven.run(code, [{ call: "add(2) + hidden", expected: 4 }], { language });
    expect(summaryOf(report)).toMatchObject({ outcome: "passed", allPassed: true });
  });

  describe.each([
    ["python", PYTHON],
    ["javascript", JAVASCRIPT],
  ])("of %s that do not come to their end", (language, code) => {
    it("are errors, and spoil no other", async () => {
      const report = await testDriven.run(
        code,
        [
          { name: "exits", call: "leave(0)", expected: null },
          { name: "aborts", call: "abort()", expected: null },
          { name: "hangs", call: "loop()", expected: null, timeoutMs: 700 },
          { name: "works", call: "add(1, 2)", expected: 3 },
        ],
        { language },
      );
      expect(summaryOf(report)).toEqual({
        outcome: "timeout",
        allPassed: false,
        tests: {
          exits: "error: The solution ended with exit code 0 before it answered",
          aborts: "error: The solution was ended by SIGABRT",
          hangs: "error: It ran too long",
          works: "passed",
        },
      });
    });

    it("are not run where the solution is no program, or fails at once", async () => {
      const broken = language === "python" ? "def (" : "const = 1;";
      const failing = language === "python" ? "raise OSError('at once')" : "throw new Error('at once');";
      const cases = [{ call: "add(1, 2)", expected: 3 }];
      const syntax = await testDriven.run(broken, cases, { language });
      expect({ outcome: syntax.outcome, tests: summaryOf(syntax).tests }).toEqual({
        outcome: "syntax-error",
        tests: { "add(1, 2)": "not-run" },
      });
      const crash = await testDriven.run(failing, cases, { language });
      expect({ outcome: crash.outcome, error: crash.error }).toEqual({
        outcome: "crash",
        error: `The solution could not be loaded: ${language === "python" ? "OSError" : "Error"}: at once`,
      });
    });
  });

  it("are ended with everything when there is no more time, or no more memory", async () => {
    const late = await testDriven.run("import time\ntime.sleep(60)", [{ call: "1", expected: 1 }], {
      timeoutMs: 1000,
    });
    expect(summaryOf(late)).toMatchObject({
      outcome: "timeout",
      tests: { 1: "error: The solution: Execution timeout (1s)" },
    });
    const full = await testDriven.run(
      "def fill():\n    kept = []\n    while True: kept.append(bytearray(10_000_000))\n",
      [{ call: "fill()", expected: 1 }],
    );
    expect(summaryOf(full)).toMatchObject({ outcome: "memory", allPassed: false });
  });

  it("never tell the solution what is expected, whatever it says", async () => {
    // It finds every text in the memory of all processes that it can look into, and says all that it could be.
    const spy = `
import glob, os, re
def answer(given):
    found = set()
    for path in glob.glob("/proc/[0-9]*/cmdline") + glob.glob("/proc/[0-9]*/environ") + glob.glob("/proc/[0-9]*/mem"):
        try: data = open(path, "rb").read(1 << 20) if not path.endswith("mem") else memory(path)
        except OSError: continue
        found |= set(re.findall(rb"secret-[0-9a-f]{32}", data))
    return sorted(each.decode() for each in found)
def memory(path):
    data = b""
    with open(path, "rb") as file:
        for line in open(path.replace("mem", "maps")):
            start, end = [int(each, 16) for each in line.split()[0].split("-")]
            if "rw" in line and end - start < 1 << 26:
                try: file.seek(start); data += file.read(end - start)
                except (OSError, ValueError): pass
    return data
`;
    const secret = (letter: string) => `secret-${letter.repeat(32)}`;
    const report = await testDriven.run(spy, [
      { name: "expected", call: { function: "answer", args: [secret("a")] }, expected: [secret("b")] },
    ]);
    expect(report.tests).toEqual([
      {
        name: "expected",
        status: "failed",
        durationMs: expect.any(Number),
        message: expect.any(String),
        expected: `["${secret("b")}"]`,
        actual: `["${secret("a")}"]`,
      },
    ]);
  });

  it.each<[string, string]>([
    ["exits when it is loaded", "import os\nos._exit(0)"],
    [
      "prints what a runner would say",
      `print('{"type":"done","case":0,"value":42}')\ndef answer(): return 0`,
    ],
    [
      "writes what a runner would say to every descriptor",
      `import os, struct\ntext = b'{"type":"done","case":0,"value":0}'\ndef answer():\n    for fd in range(3, 20):\n        try: os.write(fd, struct.pack("<I", len(text)) + text)\n        except OSError: pass\n    os._exit(0)`,
    ],
    [
      "is equal to everything",
      "class Any:\n    def __eq__(self, other): return True\ndef answer(): return Any()",
    ],
    [
      "lies about a number",
      "class Lie(int):\n    def __eq__(self, other): return True\ndef answer(): return Lie(0)",
    ],
    [
      "ends what gives it its cases",
      "import os, signal\ndef answer(): os.kill(os.getppid(), signal.SIGKILL)",
    ],
  ])("are not passed by a solution that %s", async (_, code) => {
    const report = await testDriven.run(code, [{ call: "answer()", expected: 42 }]);
    expect(report.allPassed).toBe(false);
    expect(["failed", "crash"]).toContain(report.outcome);
    expect(report.tests.map(({ status }) => status)).not.toContain("passed");
  });

  it("are refused where they mean nothing", async () => {
    await expect(testDriven.run("", [])).resolves.toMatchObject({ outcome: "no-tests", allPassed: false });
    await expect(testDriven.run("", [{ call: "f()", expected: new Date() }])).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await expect(
      testDriven.run("", [{ call: { function: "f", kwargs: { a: 1 } }, expected: 1 }], {
        language: "javascript",
      }),
    ).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(
      testDriven.run("", [{ call: "f()", expected: 1 }], { together: true }),
    ).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });
});

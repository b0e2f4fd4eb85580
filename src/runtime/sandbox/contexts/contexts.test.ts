import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import type { SandboxManager } from "../../../core/manager/index.js";
import type { SandboxError } from "../../../kit/errors.js";
import { waitUntil } from "../../../kit/wait-until.js";
import type { CodeContext, ContextEvent, ContextResult, RunningSandbox } from "../index.js";

let manager: SandboxManager;
let sandbox: RunningSandbox;

beforeAll(async () => {
  manager = openManager({ backend: "bubblewrap" });
  sandbox = await manager.startSandbox("contexts");
});

afterEach(() => Promise.all(sandbox.listContexts().map((context) => context.close())));

/** The plain forms of what was shown. */
function shown({ results }: ContextResult): unknown[] {
  return results.map(({ data }) => data["text/plain"]);
}

const JAVASCRIPT = {
  set: "let x = 41",
  print: "console.log(x + 1)",
  value: ["x + 1", "42"],
  fails: [
    "function f() {\n  throw new RangeError('bad')\n}\nf()",
    "RangeError",
    "bad",
    "throw new RangeError('bad')",
  ],
  broken: ["const = 1", "SyntaxError"],
  endless: "while (true) {}",
  shows: "while (true) display.html('x'.repeat(1000))",
  closes: ["process.stdout.end()", "process.stdout.destroy()", "require('node:fs').closeSync(1)"],
  waits: "await new Promise(() => {})",
  awaits: ["const seven = await new Promise((r) => setTimeout(() => r(7), 1)); seven", "7"],
  exits: ["process.exit(3)", 3],
  dies: "process.kill(process.pid, 'SIGKILL')",
  floods: "while (true) console.log('x'.repeat(1000))",
} as const;

/** One test for what all languages do, in their own words. */
const LANGUAGES = {
  python: {
    set: "x = 41",
    print: "print(x + 1)",
    value: ["x + 1", "42"],
    fails: ["def f():\n    raise ValueError('bad')\nf()", "ValueError", "bad", "raise ValueError('bad')"],
    broken: ["def (:", "SyntaxError"],
    endless: "while True: pass",
    shows: "while True: display('x' * 1000)",
    closes: ["import sys; sys.stdout.close()", "import os; os.close(1)"],
    waits: "import time; time.sleep(60)",
    awaits: ["import asyncio\nawait asyncio.sleep(0.001)\n7", "7"],
    exits: ["import sys; sys.exit(3)", 3],
    dies: "import os; os._exit(7)",
    floods: "while True: print('x' * 1000)",
  },
  javascript: JAVASCRIPT,
  typescript: {
    ...JAVASCRIPT,
    set: "let x: number = 41",
    print: "console.log(x + 1 as number)",
    value: ["(x + 1) satisfies number", "42"],
    fails: [
      "function f(): never {\n  throw new RangeError('bad')\n}\nf()",
      "RangeError",
      "bad",
      "throw new RangeError('bad')",
    ],
    waits: "await new Promise<void>(() => {})",
    awaits: ["const seven: number = await new Promise((r) => setTimeout(() => r(7), 1)); seven", "7"],
  },
} as const;

describe.each(Object.entries(LANGUAGES))("a context of %s", (language, code) => {
  const create = () => sandbox.createContext({ language });

  it("keeps its state, counts, and shows the value of the last expression", async () => {
    const context = await create();
    expect((await context.run(code.set)).results).toEqual([]);
    const printed = await context.run(code.print);
    expect([printed.success, printed.reason, printed.exitCode, printed.stdout, printed.stderr]).toEqual([
      true,
      "exited",
      0,
      "42\n",
      "",
    ]);
    const valued = await context.run(code.value[0]);
    expect(valued.results).toEqual([{ data: { "text/plain": code.value[1] }, isMain: true }]);
    expect([valued.executionCount, context.executionCount, valued.contextId]).toEqual([3, 3, context.id]);
  });

  it("lets names be declared again, as in a notebook", async () => {
    const context = await create();
    await context.run(code.set);
    expect((await context.run(code.set)).success).toBe(true);
  });

  it("tells an error by name, value and the code's own lines, and goes on", async () => {
    const context = await create();
    const [text, name, value, line] = code.fails;
    const failed = await context.run(text);
    expect([failed.success, failed.reason, failed.exitCode, failed.error]).toEqual([
      false,
      "exited",
      1,
      `${name}: ${value}`,
    ]);
    expect(failed.exception).toMatchObject({ name, value, traceback: expect.stringContaining(line) });
    expect(failed.exception?.traceback).not.toMatch(/skerry|node:|context/);
    const broken = await context.run(code.broken[0]);
    expect(broken.exception).toMatchObject({
      name: code.broken[1],
      traceback: expect.stringContaining(code.broken[0]),
    });
    expect((await context.run(code.set)).success).toBe(true);
  });

  it("waits where the code awaits", async () => {
    const context = await create();
    expect(shown(await context.run(code.awaits[0]))).toEqual([code.awaits[1]]);
  });

  it.each(["endless", "waits"] as const)(
    "interrupts code that is %s at its timeout, and keeps its state",
    async (kind) => {
      const context = await create();
      await context.run(code.set);
      const late = await context.run(code[kind], { timeoutMs: 200 });
      expect([late.success, late.reason, late.error, context.state]).toEqual([
        false,
        "timeout",
        "Execution timeout (0.2s)",
        "idle",
      ]);
      expect((await context.run(code.print)).stdout).toBe("42\n");
    },
  );

  it("is interrupted by hand, and by a signal", async () => {
    const context = await create();
    const running = context.run(code.endless);
    await waitUntil(() => context.interrupt());
    expect((await running).reason).toBe("cancelled");
    expect(context.interrupt()).toBe(false);
    const controller = new AbortController();
    const aborted = context.run(code.endless, { signal: controller.signal });
    setTimeout(() => controller.abort(), 100);
    expect((await aborted).reason).toBe("cancelled");
    expect(context.state).toBe("idle");
  });

  it.each(["endless", "shows"] as const)("is interrupted at any moment of code that is %s", async (kind) => {
    const context = await create();
    for (let round = 0; round < 40; round++) {
      const running = context.run(code[kind]);
      await new Promise((resolve) => setTimeout(resolve, (round % 8) / 2));
      await waitUntil(() => context.interrupt());
      expect([(await running).reason, context.ending]).toEqual(["cancelled", undefined]);
    }
  });

  it("prints again after code that closed its output", async () => {
    const context = await create();
    for (const closes of code.closes) {
      await context.run(closes);
      expect((await context.run(code.set)).success).toBe(true);
      expect((await context.run(code.print)).stdout).toBe("42\n");
    }
  });

  it("takes an exit for the end of the code, not of the context", async () => {
    const context = await create();
    await context.run(code.set);
    const exited = await context.run(code.exits[0]);
    expect([exited.reason, exited.exitCode, exited.success]).toEqual(["exited", code.exits[1], false]);
    expect((await context.run(code.print)).stdout).toBe("42\n");
  });

  it("says why it ended, and restarts", async () => {
    const context = await create();
    await context.run(code.set);
    expect((await context.run(code.dies)).success).toBe(false);
    expect(context.state).toBe("ended");
    await expect(context.run("1")).rejects.toMatchObject({
      code: "CONTEXT_ENDED",
      message: expect.stringContaining(context.ending ?? "nothing"),
      hint: expect.stringMatching(/^Restart/),
    });
    await context.restart();
    expect([context.state, context.executionCount]).toEqual(["idle", 0]);
    const again = await context.run(code.value[0]);
    expect([again.success, again.executionCount]).toEqual([false, 1]);
  });

  it("ends a flood at the output limit, and keeps its state", async () => {
    const context = await create();
    await context.run(code.set);
    const flooded = await context.run(code.floods, { maxOutputBytes: 10_000 });
    expect([flooded.reason, flooded.truncated, flooded.stdout.length]).toEqual([
      "output-limit",
      true,
      10_000,
    ]);
    expect((await context.run(code.print)).stdout).toBe("42\n");
  });

  it("streams what is printed and shown, in order", async () => {
    const context = await create();
    await context.run(code.set);
    const events: string[] = [];
    let result: ContextResult | undefined;
    for await (const event of context.run(`${code.print};\n${code.value[0]}`)) {
      events.push(event.type);
      if (event.type === "exit") result = event.result;
    }
    expect(events).toEqual(["stdout", "result", "exit"]);
    expect(result).toMatchObject({ success: true, stdout: "", executionCount: 2 });
  });
});

describe("a context of bash", () => {
  let context: CodeContext;
  const create = async () => {
    context = await sandbox.createContext({ language: "bash" });
  };

  it("keeps variables, functions, aliases and the directory", async () => {
    await create();
    await context.run("x=41; f() { echo \"f of $1\"; }; alias hi='echo hello'; mkdir -p sub; cd sub");
    const result = await context.run("echo $((x + 1)); f 'it'\\''s'; hi; pwd");
    expect([result.stdout, result.exitCode, result.executionCount]).toEqual([
      "42\nf of it's\nhello\n/workspace/sub\n",
      0,
      2,
    ]);
  });

  it("prints again after code that closed its output", async () => {
    await create();
    for (const closes of ["exec 1>&- 2>&-", "exec >file 2>&1"]) {
      await context.run(closes);
      const next = await context.run("echo out; echo err >&2");
      expect([next.stdout, next.stderr]).toEqual(["out\n", "err\n"]);
    }
  });

  it("takes any text as it is", async () => {
    await create();
    const text = "printf '%s' \"ünï 😀 \\\\ ' \\\" $'q' `echo b`\"\ncat <<'E'\n$x\n\ttab\nE";
    const plain = await sandbox.exec(["bash", "-c", text]);
    expect((await context.run(text)).stdout).toBe(plain.stdout);
  });

  it("gives the status of the last command, also of what cannot be read", async () => {
    await create();
    expect((await context.run("(exit 5)")).exitCode).toBe(5);
    expect(await context.run("if true; then echo 'half")).toMatchObject({ exitCode: 2, success: false });
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is bash's
    expect((await context.run("echo ${unset:?gone}; echo after")).stdout).toBe("");
    expect((await context.run("echo still here")).stdout).toBe("still here\n");
  });

  it.each(["while :; do :; done", "sleep 60", "while true; do sleep 0.01; done"])(
    "is interrupted in %s",
    async (loop) => {
      await create();
      await context.run("x=41");
      expect((await context.run(loop, { timeoutMs: 200 })).reason).toBe("timeout");
      expect((await context.run("echo $x")).stdout).toBe("41\n");
    },
  );

  it.each(["while :; do :; done", ":", "true; false; echo $x", "for i in 1 2 3; do sleep 0.001; done"])(
    "never loses an interrupt's context, whenever it comes in %s",
    async (code) => {
      await create();
      await context.run("x=41");
      for (let round = 0; round < 60; round++) {
        let isOver = false;
        const running = Promise.resolve(context.run(code)).finally(() => {
          isOver = true;
        });
        for (let turns = 0; turns < round % 12; turns++) await new Promise(setImmediate);
        await waitUntil(() => context.interrupt() || isOver);
        const { reason, stderr } = await running;
        expect(code.startsWith("while") ? ["cancelled"] : ["cancelled", "exited"]).toContain(reason);
        expect([stderr.trim(), context.ending]).toEqual(["", undefined]);
      }
      expect((await context.run("echo $x")).stdout).toBe("41\n");
    },
  );

  it("is interrupted also where the code has a use for PROMPT_COMMAND", async () => {
    await create();
    const late = await context.run("x=41; PROMPT_COMMAND='y=1'; while :; do :; done", { timeoutMs: 200 });
    expect([late.reason, context.ending]).toEqual(["timeout", undefined]);
    expect((await context.run("echo $x; PROMPT_COMMAND=")).stdout).toBe("41\n");
    expect((await context.run("echo $x")).stdout).toBe("41\n");
  });

  it("has nothing to read, and does not have the code read the orders of the next run", async () => {
    await create();
    expect((await context.run('cat; read line; echo "<$line>"; cat <&3')).stdout).toBe("<>\n");
    expect((await context.run("echo next")).stdout).toBe("next\n");
  });

  it("ends with exit, and with set -e at the first failure, and says so", async () => {
    await create();
    const result = await context.run("set -e; false; echo no");
    expect([result.stdout, result.exitCode, context.state, context.ending]).toEqual([
      "",
      1,
      "ended",
      "its code exited with 1",
    ]);
  });
});

describe("contexts", () => {
  it("run several at once in one sandbox, each with a state of its own", async () => {
    const contexts = await Promise.all(
      ["python", "javascript", "python"].map((language) => sandbox.createContext({ language })),
    );
    await Promise.all(contexts.map((context, index) => context.run(`x = ${index}`)));
    const results = await Promise.all(contexts.map((context) => context.run("x")));
    expect(results.map(shown)).toEqual([["0"], ["1"], ["2"]]);
    expect(new Set(sandbox.listContexts())).toEqual(new Set(contexts));
  });

  it("run one piece of code after the other, in the order of the calls", async () => {
    const context = await sandbox.createContext();
    const results = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        context.run(`seen = globals().get("seen", []) + [${index}]; seen`),
      ),
    );
    expect(shown(results.at(-1)!)).toEqual(["[0, 1, 2, 3, 4, 5, 6, 7]"]);
  });

  it("never begin what was cancelled while it waited", async () => {
    const context = await sandbox.createContext();
    const first = context.run("import time; time.sleep(0.3)");
    const controller = new AbortController();
    const second = context.run("touched = True", { signal: controller.signal });
    controller.abort();
    await expect(second).rejects.toMatchObject({ code: "CANCELLED" });
    await first;
    expect(shown(await context.run("'touched' in globals()"))).toEqual(["False"]);
  });

  it("tell which files a piece of code changed", async () => {
    const context = await sandbox.createContext();
    const { fileChanges } = await context.run("open('made.txt', 'w').write('x')");
    expect(fileChanges).toEqual([{ path: "made.txt", change: "created" }]);
  });

  it("are found by name, and refuse a name that is taken or none", async () => {
    const context = await sandbox.createContext({ id: "main" });
    expect(sandbox.context("main")).toBe(context);
    expect(() => sandbox.context("other")).toThrow(expect.objectContaining({ code: "CONTEXT_NOT_FOUND" }));
    await expect(sandbox.createContext({ id: "main" })).rejects.toMatchObject({ code: "CONFLICT" });
    await expect(sandbox.createContext({ id: "../x" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(sandbox.createContext({ language: "cobol" })).rejects.toMatchObject({
      code: "LANGUAGE_UNKNOWN",
    });
  });

  it("leave no process when they are closed, whatever the code started", async () => {
    const context = await sandbox.createContext();
    await context.run("import subprocess; subprocess.Popen(['sleep', '987'], start_new_session=True)");
    await context.run("import os; os.system('sleep 987 &')");
    const sleeping = async () => (await sandbox.exec(["pgrep", "-f", "-c", "^sleep 987"])).stdout.trim();
    await waitUntil(async () => (await sleeping()) === "2");
    await context.close();
    expect(await sleeping()).toBe("0");
    await expect(context.run("1")).rejects.toMatchObject({ code: "CONTEXT_ENDED" });
  });

  it("keep what the code started while it lives, whatever else ends in the sandbox", async () => {
    const context = await sandbox.createContext();
    await context.run("import os; os.system('sleep 986 &')");
    const sleeping = async () => (await sandbox.exec(["pgrep", "-f", "-c", "^sleep 986"])).stdout.trim();
    await waitUntil(async () => (await sleeping()) === "1");
    await sandbox.exec(["true"]);
    expect(await sleeping()).toBe("1");
  });
});

describe("what Python shows", () => {
  let context: CodeContext;
  const create = async () => {
    context = await sandbox.createContext();
  };

  it("has every form that a value offers", async () => {
    await create();
    const { results } = await context.run(`
class Rich:
    def __repr__(self): return "<rich>"
    def _repr_html_(self): return "<b>rich</b>"
    def _repr_markdown_(self): return "**rich**"
    def _repr_svg_(self): return "<svg/>"
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_latex_(self): return "$rich$"
    def _repr_json_(self): return {"rich": [1, None]}
    def _repr_jpeg_(self): raise RuntimeError("one that fails is left out")
display(Rich(), 5)
Rich()`);
    const data = {
      "text/plain": "<rich>",
      "text/html": "<b>rich</b>",
      "text/markdown": "**rich**",
      "image/svg+xml": "<svg/>",
      "image/png": Buffer.from("\x89PNG", "latin1").toString("base64"),
      "text/latex": "$rich$",
      "application/json": { rich: [1, null] },
    };
    expect(results).toEqual([
      { data, isMain: false },
      { data: { "text/plain": "5" }, isMain: false },
      { data, isMain: true },
    ]);
  });

  it("asks classes and proxies nothing", async () => {
    await create();
    const result = await context.run(`
class Proxy:
    def __getattr__(self, name): return lambda *a, **k: 1 / 0
    def __repr__(self): return "proxy"
Proxy()`);
    expect(result.results).toEqual([{ data: { "text/plain": "proxy" }, isMain: true }]);
  });

  it("leaves a result out that is too large, and says so", async () => {
    await create();
    const result = await context.run(
      "class Figure:\n    def __repr__(self): return 'figure'\n    def _repr_png_(self): return b'x' * (100 << 20)\nFigure()",
      { maxResultBytes: 1_000_000, timeoutMs: 60_000 },
    );
    expect(result).toMatchObject({ success: true, resultsTruncated: true });
    expect(shown(result)).toEqual(["figure (left out, too large: image/png of 139810138 bytes)"]);
    expect(shown(await context.run("1"))).toEqual(["1"]);
  });

  it("ends an endless __repr__ at the timeout", async () => {
    await create();
    const code = "class Endless:\n    def __repr__(self):\n        while True: pass\nEndless()";
    expect((await context.run(code, { timeoutMs: 300 })).reason).toBe("timeout");
    expect(shown(await context.run("1"))).toEqual(["1"]);
  });

  it("shows what a value's own errors are", async () => {
    await create();
    const result = await context.run("class Bad:\n    def __repr__(self): raise KeyError('in repr')\nBad()");
    expect(result.exception).toMatchObject({ name: "KeyError", value: "'in repr'" });
  });

  requires("pandas").it("shows a data frame as a table", async () => {
    await create();
    const { results } = await context.run(
      "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2]})\ndf.describe()",
      { timeoutMs: 60_000 },
    );
    expect(Object.keys(results[0]!.data)).toEqual(["text/plain", "text/html"]);
    expect(results[0]!.data["text/html"]).toContain("<table");
  });
});

const PNG = Buffer.from("\x89PNG\r\n", "latin1").toString("base64").slice(0, 8);

requires("matplotlib").describe("figures of matplotlib", () => {
  const pictures = ({ results }: ContextResult) =>
    results.map(({ data, isMain }) => [String(data["image/png"]).slice(0, 8), isMain]);
  const options = { timeoutMs: 60_000 };

  it("are shown by show(), at the end of the code, and as its value", async () => {
    const context = await sandbox.createContext();
    const begin = "import matplotlib.pyplot as plt\n";
    expect(pictures(await context.run(`${begin}plt.plot([1, 2])\nplt.show()\nprint('on')`, options))).toEqual(
      [[PNG, false]],
    );
    // The list of lines that plot() returns, and then the figure.
    const plotted = await context.run("plt.plot([1, 2]);\nplt.figure()\nplt.plot([3])\nNone", options);
    expect(pictures(plotted)).toEqual([
      [PNG, false],
      [PNG, false],
    ]);
    expect(pictures(await context.run("f = plt.Figure()\nf.subplots().plot([1, 2])\nf", options))).toEqual([
      [PNG, true],
    ]);
    expect(pictures(await context.run("plt.figure()\nNone", options))).toEqual([]);
    expect((await context.run("plt.get_fignums()", options)).results[0]!.data["text/plain"]).toBe("[]");
  });

  it("that were imported by something else, or in a copy, are shown all the same", async () => {
    const context = await sandbox.createContext();
    await sandbox.files.write(
      "drawing.py",
      "from matplotlib import pyplot\ndef draw(): pyplot.plot([1, 2])\n",
    );
    await context.run("import drawing", options);
    const copy = await context.fork();
    for (const each of [context, copy])
      expect(pictures(await each.run("drawing.draw()\ndrawing.pyplot.show()", options))).toEqual([
        [PNG, false],
      ]);
  });

  it("of many megabytes are left out, and the context goes on", async () => {
    const context = await sandbox.createContext();
    const code = `import numpy, matplotlib.pyplot as plt
fig = plt.figure(figsize=(20, 20), dpi=150)
fig.figimage(numpy.random.default_rng(1).integers(0, 255, (3000, 3000, 3), 'uint8'))
plt.show()`;
    const result = await context.run(code, { timeoutMs: 120_000, maxResultBytes: 1_000_000 });
    expect(result).toMatchObject({ success: true, resultsTruncated: true });
    expect(shown(result)[0]).toMatch(/left out, too large: image\/png of \d{8,9} bytes/);
    expect(shown(await context.run("1"))).toEqual(["1"]);
  });
});

describe("code of Node.js that has let go of its thread", () => {
  it.each([
    ["awaited", "await 0; while (true) {}"],
    ["imported", "import fs from 'node:fs'; while (true) {}"],
    ["set a timer", "setTimeout(() => { while (true) {} }, 1); await new Promise(() => {})"],
    ["waits for ever", "await new Promise(() => {})"],
    ["never lets anything else come in", "for (;;) await 0"],
    ["shows itself for ever", "({ [Symbol.for('nodejs.util.inspect.custom')]() { while (true) {} } })"],
    ["waits for a process", "require('node:child_process').execSync('sleep 100')"],
  ])("and %s is interrupted, and keeps its state", async (_, code) => {
    const context = await sandbox.createContext({ language: "javascript" });
    await context.run("import os from 'node:os'; let kept = 42");
    for (let round = 0; round < 3; round++) {
      expect((await context.run(code, { timeoutMs: 300 })).reason).toBe("timeout");
      const next = await context.run("console.log(kept); kept");
      expect([next.stdout, shown(next), context.ending]).toEqual(["42\n", ["42"], undefined]);
    }
  });

  it("and loads a module when it is interrupted can load it again", async () => {
    const context = await sandbox.createContext({ language: "javascript" });
    await context.run(
      "require('node:fs').writeFileSync('slow.cjs', 'for (let i = 0; i < 3e8; i++); exports.done = true')",
    );
    await context.run("require('./slow.cjs')", { timeoutMs: 10 });
    expect(shown(await context.run("require('./slow.cjs').done"))).toEqual(["true"]);
  });

  it("takes exports as a module has them", async () => {
    const context = await sandbox.createContext({ language: "javascript" });
    for (const code of [
      "export default function () {}",
      "export default class {}",
      "export default { a: 1 }",
    ])
      expect((await context.run(code)).error).toBeUndefined();
    expect(shown(await context.run("export default function named() { return 5 }\nnamed()"))).toEqual(["5"]);
  });

  it("takes the exports of a namespace as TypeScript has them", async () => {
    const context = await sandbox.createContext({ language: "typescript" });
    const values: unknown[] = [];
    for (const code of [
      "namespace A { export const x = 1; export function f() { return x + 1 } }\nA.f()",
      "export namespace B.C { export enum E { F = 3 } }\nB.C.E.F",
      "class D {}\nnamespace D { export let y = 4 }\nD.y",
      "import y = D.y\ny + 1",
      "import path = require('node:path')\npath.basename('a/b')",
    ])
      values.push(...shown(await context.run(code)));
    expect(values).toEqual(["2", "3", "4", "5", "'b'"]);
  });
});

describe("code that misbehaves", () => {
  let context: CodeContext;
  const create = async () => {
    context = await sandbox.createContext();
  };

  it.each([
    ["closes its output", "import os, sys; sys.stdout.close(); os.close(1); os.close(2)"],
    ["replaces its output", "import os; fd = os.open('/dev/null', 1); os.dup2(fd, 1); os.dup2(fd, 2)"],
    ["removes its output", "import sys; sys.stdout = sys.stderr = None"],
  ])("that %s does so for itself only", async (_, code) => {
    await create();
    await context.run(code);
    const next = await context.run("import sys\nprint('here'); print('there', file=sys.stderr)");
    expect([next.stdout, next.stderr]).toEqual(["here\n", "there\n"]);
  });

  it("that forks has its child end where the code does", async () => {
    await create();
    const forked = await context.run(
      "import os\npid = os.fork()\nprint('child' if pid == 0 else 'parent', flush=True)\nif pid: os.waitpid(pid, 0)\n'value'",
    );
    expect(forked.stdout.trim().split("\n").sort()).toEqual(["child", "parent"]);
    expect(shown(forked)).toEqual(["'value'"]);
    expect((await context.run("import os, sys\nif os.fork(): sys.exit(0)")).success).toBe(true);
    expect(shown(await context.run("6 * 7"))).toEqual(["42"]);
  });

  it("that writes to its control socket ends its context, and nothing else", async () => {
    await create();
    const forged = await context.run(
      "import os, struct\nos.write(3, struct.pack('<I', 0xffffffff))\nimport time; time.sleep(60)",
    );
    expect(forged.success).toBe(false);
    await expect(context.run("1")).rejects.toMatchObject({ code: "CONTEXT_ENDED" });
    const other = await sandbox.createContext();
    expect(shown(await other.run("1"))).toEqual(["1"]);
  });

  it("that forges messages only deceives itself", async () => {
    await create();
    const forged = await context.run(`
import os, struct, json
def say(message):
    text = json.dumps(message).encode()
    os.write(3, struct.pack("<I", len(text)) + text)
say({"type": "result", "run": 1, "data": {"__proto__": "x", "text/plain": 5, "no type": "x"}, "main": "yes"})
say({"type": "done", "run": 99, "count": -1, "exitCode": "x"})
"end"`);
    expect(forged.results).toEqual([
      { data: { "text/plain": "" }, isMain: false },
      { data: { "text/plain": "'end'" }, isMain: true },
    ]);
  });

  it("that shows more than it may, past its interpreter, fills no memory of the host", async () => {
    await create();
    const flooded = await context.run(
      `
import socket, struct, json
text = json.dumps({"type": "result", "run": 1, "data": {"text/plain": "x" * 10000}, "main": False}).encode()
control = socket.socket(fileno=3)
for _ in range(20000): control.sendall(struct.pack("<I", len(text)) + text)
control.detach()`,
      { maxResultBytes: 1_000_000 },
    );
    expect(flooded).toMatchObject({ success: true, resultsTruncated: true });
    expect(flooded.results.length).toBeGreaterThan(50);
    expect(flooded.results.length).toBeLessThan(200);
  });

  it("that says values without end, past its interpreter, does not hold up the host", async () => {
    await create();
    const start = process.cpuUsage();
    const flooded = await context.run(`
import socket, struct
text = b'{"type":"result","run":1,"data":{"application/json":[' + b"{}," * 10_000_000 + b'{}]},"main":false}'
control = socket.socket(fileno=3)
control.sendall(struct.pack("<I", len(text)) + text)
control.detach()`);
    expect([flooded.success, flooded.results]).toEqual([false, []]);
    expect(context.ending).toContain("very many values");
    // Its values alone would take the host several times as long.
    expect(process.cpuUsage(start).user / 1e6).toBeLessThan(3);
  });

  it("that names an error with megabytes has it cut", async () => {
    await create();
    const named = await context.run("raise type('E' * 5_000_000, (Exception,), {})('x' * 5_000_000)");
    expect(named.exception?.name).toHaveLength(200);
    expect(named.exception?.value.length).toBeLessThan(3_000_000);
  });

  it("that shows what JSON has no word for, or very many values, keeps its state", async () => {
    await create();
    const nothing = await context.run(
      "class V:\n    def _repr_json_(self): return {'a': float('nan'), 'b': [float('inf'), 1]}\nV()",
    );
    expect(nothing.results[0]?.data["application/json"]).toEqual({ a: null, b: [null, 1] });
    const many = await context.run(
      "class W:\n    def __repr__(self): return 'W'\n    def _repr_json_(self): return list(range(60000))\nW()",
    );
    expect([many.success, many.resultsTruncated]).toEqual([true, true]);
    expect(shown(many)[0]).toMatch(/^W \(left out, too large: application\/json/);
    expect(shown(await context.run("1"))).toEqual(["1"]);
  });

  it("that leaves past its interpreter is no success", async () => {
    await create();
    const left = await context.run("import os; os._exit(0)");
    expect([left.success, left.error]).toEqual([false, "The context has ended: its code exited with 0"]);
  });

  it("that is cancelled in its first moments is interrupted", async () => {
    await create();
    for (let microtasks = 0; microtasks < 8; microtasks++) {
      const controller = new AbortController();
      const running = context.run("while True: pass", { signal: controller.signal });
      for (let each = 0; each < microtasks; each++) await undefined;
      controller.abort();
      const reason = await Promise.resolve(running).then(
        (result) => result.reason,
        (error: SandboxError) => error.code,
      );
      expect(["cancelled", "CANCELLED"]).toContain(reason);
      expect(context.ending).toBeUndefined();
    }
  });

  it("that shows very many small things has them counted, too", async () => {
    await create();
    const many = await context.run("for i in range(100000): display(i)", { maxResultBytes: 100_000 });
    expect(many).toMatchObject({ success: true, resultsTruncated: true });
    expect(many.results.length).toBeLessThanOrEqual(500);
  });

  it("that prints between two runs is heard in the next one, up to a bound", async () => {
    await create();
    await context.run(
      "import threading, time\ndef late():\n    time.sleep(0.05); print('late', flush=True); print('x' * 200000, flush=True); time.sleep(0.05)\nt = threading.Thread(target=late); t.start()",
    );
    await context.run("t.join()");
    const quiet = await context.run("print('now')");
    expect(quiet.stdout.endsWith("now\n")).toBe(true);
  });

  it("that does not end when it is interrupted ends its context, which says so", async () => {
    await create();
    const code = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nwhile True: pass";
    const result = await context.run(code, { timeoutMs: 200 });
    expect([result.reason, context.state]).toEqual(["timeout", "ended"]);
    expect(context.ending).toContain("did not end in time");
    await context.restart();
    expect(shown(await context.run("1"))).toEqual(["1"]);
  });

  it("never loses an interrupt's context, whenever it comes", async () => {
    await create();
    for (let delay = 0; delay < 12; delay++) {
      const running = context.run("for i in range(20000): pass\n[1, 2, 3]");
      const timer = setTimeout(() => context.interrupt(), delay / 2);
      const { reason } = await running;
      clearTimeout(timer);
      expect(["exited", "cancelled"]).toContain(reason);
    }
    expect(shown(await context.run("'alive'"))).toEqual(["'alive'"]);
  });
});

requires("root", "cgroups").it("says that a context was killed for memory", async () => {
  const limited = await manager.startSandbox("little memory", { ephemeral: true, limits: { memoryMb: 64 } });
  const context = await limited.createContext();
  const result = await context.run("x = b'x' * (400 << 20)");
  expect([result.reason, context.state, context.ending]).toEqual([
    "memory",
    "ended",
    "killed: the sandbox's memory limit was reached",
  ]);
  await limited.stop();
});

it("end with their sandbox, also while code runs", async () => {
  const other = await manager.startSandbox("to be stopped", { ephemeral: true });
  const context = await other.createContext();
  const running = context.run("import time; time.sleep(60)");
  running.catch(() => undefined);
  await waitUntil(() => context.state === "busy");
  await other.stop();
  await expect(running).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
  await expect(other.createContext()).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
});

it("hold a program back whose output is not read, instead of filling memory", async () => {
  const context = await sandbox.createContext();
  const execution = context.run("import sys\nfor i in range(200): sys.stdout.write('x' * 1_000_000)");
  let bytes = 0;
  for await (const event of execution as AsyncIterable<ContextEvent>) {
    if (event.type === "stdout") bytes += event.data.length;
    if (bytes > 0 && bytes < 3_000_000) await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(bytes).toBe(200_000_000);
});

import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { openManager } from "../../../../test/setup/open-manager.js";
import { waitUntil } from "../../../kit/wait-until.js";
import type { CodeContext, ContextResult, RunningSandbox } from "../index.js";

let sandbox: RunningSandbox;
let context: CodeContext;

beforeAll(async () => {
  sandbox = await openManager({ backend: "bubblewrap" }).startSandbox("notebook");
});

afterEach(() => Promise.all(sandbox.listContexts().map((each) => each.close())));

const create = async () => {
  context = await sandbox.createContext();
};

/** The plain forms of what was shown. */
function shown({ results }: ContextResult): unknown[] {
  return results.map(({ data }) => data["text/plain"]);
}

/** Runs each piece in one context; what was printed, shown and raised. */
async function runAll(...pieces: string[]): Promise<unknown[]> {
  await create();
  const outcomes: unknown[] = [];
  for (const piece of pieces) {
    const result = await context.run(piece);
    outcomes.push(result.exception?.traceback ?? [result.stdout, ...shown(result)]);
  }
  return outcomes;
}

describe("asyncio in a context", () => {
  const task =
    "import asyncio\nasync def f(n):\n    await asyncio.sleep(0.01)\n    print('f', n)\n    return n";

  it("has one loop for a piece: what makes a task and what awaits it", async () => {
    expect(
      await runAll(
        task,
        "t = asyncio.create_task(f(1)); await t",
        "t = asyncio.create_task(f(2))\nx = await t\nx",
      ),
    ).toEqual([[""], ["f 1\n", "1"], ["f 2\n", "2"]]);
  });

  it("makes tasks also where nothing awaits, and goes on with them between pieces", async () => {
    await create();
    await context.run(
      `${task}\nasync def count():\n    global ticks\n    while True:\n        ticks += 1\n        await asyncio.sleep(0.001)`,
    );
    await context.run("ticks = 0; t = asyncio.create_task(count())");
    await waitUntil(async () => Number(shown(await context.run("ticks"))[0]) > 20);
    expect(shown(await context.run("t.cancel(); await asyncio.sleep(0); t.cancelled()"))).toEqual(["True"]);
  });

  it("has the same loop in every piece", async () => {
    expect(
      await runAll(
        "import asyncio; a = asyncio.get_running_loop()",
        "b = asyncio.get_running_loop(); await asyncio.sleep(0)",
        "a is b is asyncio.get_event_loop()",
      ),
    ).toEqual([[""], [""], ["", "True"]]);
  });

  it("lets code run a loop of its own as a program would", async () => {
    expect(
      await runAll(
        task,
        "asyncio.run(f(1)); t = asyncio.create_task(f(2))",
        "asyncio.get_event_loop().run_until_complete(f(3))",
        "loop = asyncio.new_event_loop(); print(loop.run_until_complete(f(4))); loop.close()",
        "with asyncio.Runner() as runner: runner.run(f(5))",
      ),
    ).toEqual([
      [""],
      // The task of f(2) prints when its time has come: in this piece or in a later one.
      [expect.stringContaining("f 1\n")],
      [expect.stringContaining("f 3\n"), "3"],
      [expect.stringContaining("f 4\n4\n")],
      [expect.stringContaining("f 5\n")],
    ]);
  });

  it("survives what background tasks do", async () => {
    await create();
    await context.run(
      "import asyncio, sys\nasync def leave(): sys.exit(3)\nasync def stop(): asyncio.get_running_loop().stop()\nasync def fail(): 1 / 0\nasync def slow():\n    await asyncio.sleep(0.05)\n    return 5\nkept = [asyncio.create_task(each()) for each in (leave, stop, fail)]; s = asyncio.create_task(slow())",
    );
    expect(shown(await context.run("await s"))).toEqual(["5"]);
    expect(shown(await context.run("asyncio.get_running_loop().close()\n1"))).toEqual(["1"]);
    expect(shown(await context.run("import asyncio\nawait asyncio.sleep(0)\n2"))).toEqual(["2"]);
  });

  it("keeps a loop's tasks out of copies, which have loops of their own", async () => {
    await create();
    await context.run(`${task}\nt = asyncio.create_task(asyncio.sleep(1000))`);
    const copy = await context.fork();
    expect((await copy.run("await f(1)")).stdout).toBe("f 1\n");
  });
});

describe("code that puts something else in the place of what its interpreter uses", () => {
  it.each([
    ["json", "import json; json.dumps = json.loads = json.JSONEncoder = None"],
    ["len", "import builtins; builtins.len = lambda _: 0"],
    [
      "every function of Python",
      "import builtins\nfor name in list(vars(builtins)):\n    if callable(vars(builtins)[name]) and name not in ('callable', 'vars', 'BaseException', 'Exception', '__build_class__'): setattr(builtins, name, None)",
    ],
    [
      "modules",
      "import os, struct, traceback, linecache, base64, gc, time, resource, socket, signal, ast, asyncio, io\nfor each in (os, struct, traceback, linecache, base64, gc, time, resource, socket, signal, ast, asyncio, io):\n    for name in list(vars(each)):\n        if not name.startswith('__'): setattr(each, name, None)",
    ],
    ["sys.modules", "import sys; sys.modules.clear(); sys.modules = {}"],
    [
      "the parts of sys",
      "import sys\nfor name in ('stdout', 'stderr', 'stdin', 'modules', 'path', 'argv', 'exc_info', 'getdefaultencoding', '_getframe', '_current_frames'): setattr(sys, name, None)",
    ],
    ["print and open", "def print(*_): raise ValueError\ndef open(*_): raise ValueError"],
    [
      "streams",
      "import sys\nclass Broken:\n    def __getattr__(self, name): raise RuntimeError\nsys.stdout = sys.stderr = sys.stdin = Broken()",
    ],
  ])("(%s) keeps its context", async (_, code) => {
    await create();
    await context.run(
      "class Rich:\n    def _repr_json_(self): return {'a': [1]}\n    def __repr__(self): return 'rich'",
    );
    await context.run(code);
    for (let round = 0; round < 2; round++) {
      expect(await context.run("1 / 0")).toMatchObject({
        success: false,
        exception: { name: "ZeroDivisionError" },
      });
      const { results } = await context.run("Rich()");
      expect([results, context.ending]).toEqual([
        [{ data: { "text/plain": "rich", "application/json": { a: [1] } }, isMain: true }],
        undefined,
      ]);
    }
  });

  it("sees its own, and the modules of the interpreter are not in its __main__", async () => {
    expect(
      await runAll(
        "import builtins\nplain = builtins.len\nbuiltins.len = lambda value: 7",
        "len([])",
        "builtins.len = plain",
        "[name for name in dir() if not name.startswith('__')]",
        "import sys; sys.modules['__main__'].__name__, __name__",
        "[each.__qualname__ for each in object.__subclasses__() if each.__module__ == '__main__']",
      ),
    ).toEqual([
      [""],
      ["", "7"],
      [""],
      ["", "['builtins', 'plain']"],
      ["", "('__main__', '__main__')"],
      ["", "[]"],
    ]);
  });
});

describe("an interrupt", () => {
  const interrupted = async (code: string) => {
    await create();
    await sandbox.files.remove("ready").catch(() => undefined);
    const running = context.run(`open('ready', 'w').close()\n${code}`);
    running.catch(() => undefined);
    await waitUntil(async () => (await sandbox.exec(["test", "-e", "ready"])).exitCode === 0);
    context.interrupt();
    return running;
  };

  it("that the code does not handle cancels it", async () => {
    expect(await interrupted("import time; time.sleep(60)")).toMatchObject({
      success: false,
      reason: "cancelled",
      exception: { name: "KeyboardInterrupt" },
    });
  });

  it.each([
    ["a handler", "import time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print('handled')\n'value'"],
    [
      "a coroutine",
      "import asyncio\ntry: await asyncio.sleep(60)\nexcept (KeyboardInterrupt, asyncio.CancelledError): print('handled')\n'value'",
    ],
  ])("that %s of the code takes is the code's, which ends as it does", async (_, code) => {
    const result = await interrupted(code);
    expect([result.success, result.reason, result.exitCode, result.stdout, shown(result)]).toEqual([
      true,
      "exited",
      0,
      "handled\n",
      ["'value'"],
    ]);
  });

  it("that the code answers with an error of its own is that error", async () => {
    expect(
      await interrupted(
        "import time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: raise ValueError('mine') from None",
      ),
    ).toMatchObject({ success: false, reason: "exited", exitCode: 1, exception: { name: "ValueError" } });
  });

  it("of the clock or the caller stays one, whatever the code makes of it", async () => {
    await create();
    const code = "import time\ntry: time.sleep(60)\nexcept KeyboardInterrupt: print('handled')";
    expect(await context.run(code, { timeoutMs: 300 })).toMatchObject({ success: false, reason: "timeout" });
    const controller = new AbortController();
    const running = context.run(code, { signal: controller.signal });
    setTimeout(() => controller.abort(), 300);
    expect(await running).toMatchObject({ success: false, reason: "cancelled" });
  });
});

describe("sys.exit", () => {
  it.each([
    [
      "sys.exit(0)",
      {
        success: true,
        exitCode: 0,
        stderr: "",
        exception: { name: "SystemExit", value: "0", traceback: "" },
      },
    ],
    [
      "sys.exit()",
      { success: true, exitCode: 0, stderr: "", exception: { name: "SystemExit", value: "", traceback: "" } },
    ],
    ["sys.exit(3)", { success: false, exitCode: 3, stderr: "", error: "SystemExit: 3" }],
    ["sys.exit('why')", { success: false, exitCode: 1, stderr: "why\n", error: "SystemExit: why" }],
    ["exit()", { success: true, exitCode: 0, stderr: "", exception: { name: "SystemExit" } }],
  ])("%s says that the code has ended there", async (code, expected) => {
    await create();
    const result = await context.run(`import sys\nprint('before')\n${code}\nprint('after')`);
    expect(result).toMatchObject({ reason: "exited", stdout: "before\n", ...expected });
    if (result.success) expect(result.error).toBeUndefined();
    expect((await context.run("print(input is not None)")).stdout).toBe("True\n");
  });
});

describe("input", () => {
  it("is a text, for input(), for sys.stdin and for what the code starts", async () => {
    await create();
    const first = await context.run("name = input('Who? '); number = int(input()); (name, number)", {
      stdin: "Ünï\n42\n",
    });
    expect([first.stdout, shown(first)]).toEqual(["Who? ", ["('Ünï', 42)"]]);
    expect(shown(await context.run("import sys; sys.stdin.read()", { stdin: "a\nb" }))).toEqual(["'a\\nb'"]);
    expect((await context.run("import os; os.system('cat')", { stdin: "for cat" })).stdout).toBe("for cat");
  });

  it("that is missing, or has ended, is an error that says so", async () => {
    await create();
    const none = await context.run("input()");
    expect(none.exception).toMatchObject({ name: "EOFError", value: expect.stringContaining("`stdin`") });
    expect(none.exception?.traceback).not.toContain("skerry");
    const ended = await context.run("input(); input()", { stdin: "one" });
    expect(ended.exception).toMatchObject({ name: "EOFError", value: expect.stringContaining("has ended") });
    expect((await context.run("input()")).exception?.value).toContain("`stdin`");
    expect(shown(await context.run("import sys; sys.stdin.read(), list(sys.stdin)"))).toEqual(["('', [])"]);
  });

  it("of one piece is not the next one's, nor a copy's", async () => {
    await create();
    await context.run("input()", { stdin: "one\ntwo\n" });
    expect((await context.run("input()")).exception?.name).toBe("EOFError");
    const copy = await context.fork();
    expect(shown(await copy.run("input()", { stdin: "copy" }))).toEqual(["'copy'"]);
    expect((await copy.run("input()")).exception?.name).toBe("EOFError");
  });

  it("is refused where a language has none, and where it is no text", async () => {
    const javascript = await sandbox.createContext({ language: "javascript" });
    await expect(javascript.run("1", { stdin: "x" })).rejects.toMatchObject({ code: "UNSUPPORTED" });
    await create();
    await expect(context.run("1", { stdin: 5 as never })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("what is written for a notebook", () => {
  it("hides a value behind a semicolon", async () => {
    expect(await runAll("5;", "5 ; # quiet", "5 # loud;", "'ü';", "x = 1; x", "(1 +\n 2);", "_")).toEqual([
      [""],
      [""],
      ["", "5"],
      [""],
      ["", "1"],
      [""],
      ["", "3"],
    ]);
  });

  it("prints what C libraries print", async () => {
    expect(await runAll("import ctypes; ctypes.CDLL(None).printf(b'from C\\n');", "print('next')")).toEqual([
      ["from C\n"],
      ["next\n"],
    ]);
  });

  it("shows with the names of IPython.display", async () => {
    await create();
    const { results, exception } = await context.run(`
from IPython.display import display, HTML, Image, Markdown, JSON, Latex, SVG, Code, Audio, clear_output
import IPython.display as shows, IPython
display(HTML("<b>x</b>"), Markdown("*x*"))
display(JSON({"a": 1}), Latex("$x$"), SVG("<svg/>"))
Image(data=b"\\x89PNG12", width=5)
display(Image(data=b"\\x89PNG12"), Image(url="https://example.com/a.png"))
display({"text/html": "<i>", "text/plain": "raw"}, raw=True)
handle = display("first", display_id=True); handle.update("second")
shows.display_html("<u>", raw=True); clear_output()
Image("missing.png")`);
    expect(exception?.name).toBe("FileNotFoundError");
    expect(results.map(({ data }) => data)).toEqual([
      { "text/plain": "<IPython.core.display.HTML object>", "text/html": "<b>x</b>" },
      { "text/plain": "<IPython.core.display.Markdown object>", "text/markdown": "*x*" },
      { "text/plain": "<IPython.core.display.JSON object>", "application/json": { a: 1 } },
      { "text/plain": "<IPython.core.display.Latex object>", "text/latex": "$x$" },
      { "text/plain": "<IPython.core.display.SVG object>", "image/svg+xml": "<svg/>" },
      {
        "text/plain": "<IPython.core.display.Image object>",
        "image/png": Buffer.from("\x89PNG12", "latin1").toString("base64"),
      },
      {
        "text/plain": "<IPython.core.display.Image object>",
        "text/html": '<img src="https://example.com/a.png"/>',
      },
      { "text/html": "<i>", "text/plain": "raw" },
      { "text/plain": "'first'" },
      { "text/plain": "'second'" },
      { "text/html": "<u>" },
    ]);
    expect(
      shown(
        await context.run(
          "import IPython.display as d\n[name for name in d.__all__ if not hasattr(d, name)]",
        ),
      ),
    ).toEqual(["[]"]);
  });

  it("gives IPython to the code, and not to libraries that look for a notebook", async () => {
    await sandbox.files.write(
      "looks.py",
      "try:\n    import IPython\n    found = True\nexcept ImportError:\n    found = False\n",
    );
    expect(await runAll("import looks; looks.found")).toEqual([["", "False"]]);
  });

  it("runs commands, and takes what they print", async () => {
    expect(
      await runAll(
        "!echo hello; echo there >&2",
        "n = 3\nfiles = !seq {n + 1}; echo $n $HOME\nfiles[:5]",
        "if n:\n    !echo it\\'s \\\n      indented\nprint('on')",
        "text = '''\n!echo no\n%time\n'''\n!exit 3\nprint(text, _exit_code)",
        "!awk 'BEGIN {print 1}'",
      ),
    ).toEqual([
      ["hello\n"],
      ["", expect.stringMatching(/^\['1', '2', '3', '4', '3 \//)],
      ["it's indented\non\n"],
      ["\n!echo no\n%time\n 3\n"],
      ["1\n"],
    ]);
  });

  it("knows the magics that are written from habit, and says which it does not know", async () => {
    expect(
      await runAll(
        "%matplotlib inline\n%load_ext autoreload\nx = 5",
        "%%bash\nread line <<< 'from bash'\necho $line",
        "%%writefile made.py\nmade = 'yes'\n",
        "import made; made.made",
        "%cd /tmp",
        "%pwd",
        "%env GREETING=hi",
        "%env GREETING",
        "get_ipython().run_line_magic('matplotlib', 'inline')",
      ),
    ).toEqual([
      [""],
      ["from bash\n"],
      ["Writing made.py\n"],
      ["", "'yes'"],
      ["", "'/tmp'"],
      ["", "'/tmp'"],
      [""],
      ["", "'hi'"],
      [""],
    ]);
    expect((await context.run("%time y = 6\ny")).stdout).toMatch(/^CPU times: .* s\nWall time: .* s\n$/);
    expect((await context.run("%%time\nz = y + 1\nprint(z)")).stdout).toMatch(/^7\nCPU times/);
    expect((await context.run("%timeit -n 2 -r 2 y + 1")).stdout).toMatch(/per loop/);
    expect((await context.run("%nonsense 5")).exception).toMatchObject({
      name: "NameError",
      value: expect.stringContaining("%nonsense"),
    });
    const failed = await context.run("%%bash\nexit 3");
    expect(failed.exception?.name).toBe("CalledProcessError");
  });

  it("says what is wrong with code that is neither Python nor a magic", async () => {
    expect(await runAll("x = (1\n!echo", "a = 5 %\n", "!ls\ndef (:")).toEqual([
      expect.stringContaining("'(' was never closed"),
      expect.stringContaining("SyntaxError"),
      expect.stringMatching(/line 2\n {4}def \(:/),
    ]);
  });

  it("runs pip, which says at once that it has no way out", async () => {
    await create();
    const result = await context.run("%pip install a-package-that-is-not-here", { timeoutMs: 60_000 });
    expect(result.reason).toBe("exited");
    expect(result.stdout + result.stderr).toMatch(/No matching distribution|No module named pip/);
  });
});

import { afterEach, beforeAll, expect } from "vitest";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import type { SandboxManager } from "../../../core/manager/index.js";
import { waitUntil } from "../../../kit/wait-until.js";
import type { Checkpoint, CodeContext, ContextResult, RunningSandbox } from "../index.js";

const { describe, it } = requires("linux", "bubblewrap", "python3", "root");

let manager: SandboxManager;
let sandbox: RunningSandbox;

beforeAll(async () => {
  manager = openManager({ backend: "bubblewrap" });
  sandbox = await manager.startSandbox("checkpoints");
});
afterEach(() => Promise.all(sandbox.listContexts().map((context) => context.close())));

function value({ results, exception }: ContextResult): unknown {
  return exception?.traceback ?? results.at(-1)?.data["text/plain"];
}

/** How many processes of contexts run inside, copies that rest included. */
async function interpreters(where = sandbox): Promise<number> {
  const { stdout } = await where.exec(["sh", "-c", "grep -l python /proc/[0-9]*/comm | wc -l"]);
  return Number(stdout);
}

describe("a checkpoint of a context", () => {
  it("brings everything back, as often as one likes", async () => {
    const context = await sandbox.createContext();
    await context.run("import collections\nx = [1]\ndef f(): return len(x)\nd = collections.Counter('aab')");
    const save = await context.checkpoint();
    expect(context.checkpoints).toEqual([save]);
    for (let turn = 0; turn < 3; turn++) {
      await context.run("x.append(2); d.clear(); f = None; del collections");
      expect(value(await context.run("len(x)"))).toBe("2");
      await context.rollback(save);
      expect(value(await context.run("f(), d['a'], collections.__name__"))).toBe("(1, 2, 'collections')");
    }
    expect(context.executionCount).toBe(2);
  });

  it("is one of several, each with its own state", async () => {
    const context = await sandbox.createContext();
    const saves = [];
    for (let number = 0; number < 5; number++) {
      await context.run(`n = ${number}`);
      saves.push(await context.checkpoint());
    }
    for (const number of [3, 0, 4, 1, 2, 3]) {
      await context.rollback(saves[number]!.id);
      expect(value(await context.run("n"))).toBe(String(number));
    }
    expect(await context.deleteCheckpoint(saves[0]!)).toBe(true);
    expect(await context.deleteCheckpoint(saves[0]!)).toBe(false);
    await expect(context.rollback(saves[0]!)).rejects.toMatchObject({ code: "CHECKPOINT_NOT_FOUND" });
    await context.rollback(saves[1]!);
    expect(value(await context.run("n"))).toBe("1");
  });

  it("goes on with the random numbers that it had, in every copy", async () => {
    const context = await sandbox.createContext();
    await context.run("import random; random.seed(5); random.random()");
    const save = await context.checkpoint();
    const drawn = value(await context.run("random.random()"));
    await context.rollback(save);
    expect(value(await context.run("random.random()"))).toBe(drawn);
    await context.rollback(save);
    const copy = await context.fork();
    expect(value(await copy.run("random.random()"))).toBe(drawn);
  });

  it("keeps standard output, imports, generators and await in order", async () => {
    const context = await sandbox.createContext();
    await context.run("import asyncio\ngenerator = iter(range(10))\nnext(generator)\nawait asyncio.sleep(0)");
    const save = await context.checkpoint();
    await context.run("list(generator)");
    await context.rollback(save);
    const result = await context.run("await asyncio.sleep(0)\nprint('said')\nnext(generator)");
    expect({ stdout: result.stdout, value: value(result) }).toEqual({ stdout: "said\n", value: "1" });
  });

  it("can be gone back to after the context has ended", async () => {
    const context = await sandbox.createContext();
    await context.run("x = 1");
    const save = await context.checkpoint();
    await context.run("import os; os._exit(3)");
    expect(context.state).toBe("ended");
    await context.rollback(save);
    expect(value(await context.run("x"))).toBe("1");
  });

  it("waits for the code that runs", async () => {
    const context = await sandbox.createContext();
    const running = context.run("import time; time.sleep(0.3); x = 'after'");
    const save = await context.checkpoint();
    await running;
    await context.run("x = 'later'");
    await context.rollback(save);
    expect(value(await context.run("x"))).toBe("'after'");
  });

  it("is refused while threads run, and says which", async () => {
    const context = await sandbox.createContext();
    await context.run(
      "import threading\nstop = threading.Event()\nthreading.Thread(target=stop.wait, name='worker-1').start()",
    );
    await expect(context.checkpoint()).rejects.toMatchObject({
      code: "CHECKPOINT_FAILED",
      message: "No checkpoint can be taken now: 1 thread of the code still runs: worker-1",
    });
    await expect(context.fork()).rejects.toMatchObject({ code: "CHECKPOINT_FAILED" });
    await context.run("stop.set()\nfor thread in threading.enumerate()[1:]: thread.join()");
    await context.checkpoint();
    expect(value(await context.run("1"))).toBe("1");
  });

  it("counts against the sandbox's limits, and says so", async () => {
    const small = await manager.startSandbox("few processes", { ephemeral: true, limits: { pids: 12 } });
    const context = await small.createContext();
    const saves: Checkpoint[] = [];
    const failure = await (async () => {
      for (;;) saves.push(await context.checkpoint());
    })().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "CHECKPOINT_FAILED" });
    expect(saves.length).toBeGreaterThan(2);
    expect(saves.length).toBeLessThan(12);
    expect(value(await context.run("1 + 1"))).toBe("2");
    await context.deleteCheckpoint(saves.pop()!);
    await waitUntil(async () => {
      try {
        await context.checkpoint();
        return true;
      } catch {
        return false;
      }
    });
    await small.stop();
  });

  it("that was ended for memory is reported as gone, and the context can restart", async () => {
    const small = await manager.startSandbox("little memory", { ephemeral: true, limits: { memoryMb: 120 } });
    const context = await small.createContext();
    await context.run("held = bytearray(b'x' * (40 << 20))");
    const save = await context.checkpoint();
    // Every page is copied: two of them do not fit, and neither do three.
    await context.run("for at in range(0, len(held), 4096): held[at] = 1");
    const bomb = await context.run("more = bytearray(b'y' * (200 << 20))");
    expect(["memory", "exited"]).toContain(bomb.reason);
    const outcome = await context.rollback(save).then(
      () => "back",
      (error: { code: string }) => error.code,
    );
    expect(["back", "CHECKPOINT_NOT_FOUND"]).toContain(outcome);
    await context.restart();
    expect(value(await context.run("2 + 2"))).toBe("4");
    await small.stop();
  });

  it("is gone with its context, and leaves no process", async () => {
    const before = await interpreters();
    const context = await sandbox.createContext();
    await context.run("x = 1");
    for (let turn = 0; turn < 3; turn++) await context.checkpoint();
    const copy = await context.fork();
    expect(await interpreters()).toBeGreaterThan(before + 4);
    await context.close();
    await copy.close();
    await waitUntil(async () => (await interpreters()) <= before);
    await expect(context.checkpoint()).rejects.toMatchObject({ code: "CONTEXT_ENDED" });
  });

  it("survives a restart of its context", async () => {
    const context = await sandbox.createContext();
    await context.run("x = 5");
    const save = await context.checkpoint();
    await context.restart();
    expect(value(await context.run("'x' in globals()"))).toBe("False");
    await context.rollback(save);
    expect(value(await context.run("x"))).toBe("5");
  });

  it.each(["javascript", "typescript", "bash"])("is not for %s, which says so", async (language) => {
    const context = await sandbox.createContext({ language });
    for (const attempt of [() => context.checkpoint(), () => context.fork(), () => context.rollback("x")])
      await expect(attempt()).rejects.toMatchObject({
        code: "UNSUPPORTED",
        message: `Contexts of ${language} have no checkpoints and cannot be forked`,
      });
  });

  it.each(["", "x", "../x", "ctx.1"])("is not found under the name %j", async (id) => {
    const context = await sandbox.createContext();
    await expect(context.rollback(id)).rejects.toMatchObject({ code: "CHECKPOINT_NOT_FOUND" });
  });
});

describe("a fork of a context", () => {
  it("goes its own way from here on, and both can be explored at once", async () => {
    const context = await sandbox.createContext();
    await context.run("x = 1");
    const [a, b] = await Promise.all([context.fork(), context.fork()]);
    await Promise.all([a.run("x += 10"), b.run("x += 20"), context.run("x += 30")]);
    const values = await Promise.all([context, a, b].map(async (each) => value(await each.run("x"))));
    expect(values).toEqual(["31", "11", "21"]);
    expect(new Set([context.id, a.id, b.id]).size).toBe(3);
    expect(sandbox.listContexts()).toHaveLength(3);
  });

  it("lives on when the one it came from has ended, and can be forked again", async () => {
    const context = await sandbox.createContext();
    await context.run("x = 1");
    const child = await context.fork();
    await context.close();
    await child.run("x += 1");
    const grandchild = await child.fork();
    await grandchild.run("x += 1");
    const save = await grandchild.checkpoint();
    await grandchild.run("x = 0");
    await grandchild.rollback(save);
    expect([value(await child.run("x")), value(await grandchild.run("x"))]).toEqual(["2", "3"]);
  });

  it("has output, errors and interrupts of its own", async () => {
    const context = await sandbox.createContext();
    const copy = await context.fork();
    const [one, other] = await Promise.all([context.run("print('one')"), copy.run("print('other')")]);
    expect([one.stdout, other.stdout]).toEqual(["one\n", "other\n"]);
    const endless = copy.run("while True: pass", { timeoutMs: 300 });
    expect(value(await context.run("1"))).toBe("1");
    expect((await endless).reason).toBe("timeout");
    expect(value(await copy.run("1 + 1"))).toBe("2");
  });

  it("says why it ended", async () => {
    const context = await sandbox.createContext();
    const copy = await context.fork();
    await copy.run("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)");
    expect([copy.state, copy.ending]).toEqual(["ended", "ended by signal SIGSEGV"]);
    expect(context.state).toBe("idle");
    await copy.restart();
    expect(value(await copy.run("1"))).toBe("1");
  });
});

describe("code in a context", () => {
  const HARMS = `
import os, signal, ctypes
libc = ctypes.CDLL(None, use_errno=True)
for pid in map(int, filter(str.isdigit, os.listdir("/proc"))):
    if pid == os.getpid(): continue
    for number in (signal.SIGCHLD, signal.SIGINT, signal.SIGSTOP, signal.SIGKILL):
        try: os.kill(pid, number); print("sent", number, pid)
        except OSError: pass
    for name in ("mem", "environ", "maps", "fd/0", "fd/3"):
        try: open("/proc/%d/%s" % (pid, name), "rb").read(1); print("read", pid, name)
        except OSError: pass
    if libc.ptrace(16, pid, 0, 0) == 0: print("attached", pid)
`;

  it("that is a copy can neither end, stop nor look into the others, saved ones included", async () => {
    const context = await sandbox.createContext();
    await context.run("secret = 'the saved state'");
    const save = await context.checkpoint();
    const [copy, other] = [await context.fork(), await context.fork()];
    expect((await copy.run(HARMS)).stdout).toBe("");
    await context.rollback(save);
    // What the first one went back to is a copy as well.
    expect((await context.run(HARMS)).stdout).toBe("");
    for (const each of [context, copy, other])
      expect(value(await each.run("secret"))).toBe("'the saved state'");
    await context.rollback(save);
    expect(value(await context.run("secret"))).toBe("'the saved state'");
  });

  it("that was never copied can end its own copies, and no others", async () => {
    const [context, stranger] = [await sandbox.createContext(), await sandbox.createContext()];
    await stranger.run("x = 1");
    const strangers = await stranger.checkpoint();
    const save = await context.checkpoint();
    await context.run(HARMS);
    await stranger.rollback(strangers);
    expect(value(await stranger.run("x"))).toBe("1");
    await waitUntil(() => context.checkpoints.length === 0);
    await expect(context.rollback(save)).rejects.toMatchObject({ code: "CHECKPOINT_NOT_FOUND" });
    await context.restart();
    expect(value(await context.run("1"))).toBe("1");
  });

  it("that makes a fork fail, hang or lie only harms itself", async () => {
    const context = await sandbox.createContext();
    await context.run(
      "os = display.__globals__['os']\nos.fork = lambda: (_ for _ in ()).throw(OSError('no'))",
    );
    await expect(context.checkpoint()).rejects.toMatchObject({ code: "CHECKPOINT_FAILED" });
    const liar = await sandbox.createContext();
    await liar.run("os = display.__globals__['os']\nos.fork = lambda: 0");
    await expect(liar.checkpoint()).rejects.toMatchObject({ code: expect.stringMatching(/^C/) });
    expect(value(await (await sandbox.createContext()).run("1"))).toBe("1");
  });

  it("that never answers a checkpoint is left when its context is closed", async () => {
    const context = await sandbox.createContext();
    await context.run("import time\nos = display.__globals__['os']\nos.fork = lambda: time.sleep(1000)");
    const hanging = context.checkpoint();
    hanging.catch(() => undefined);
    await waitUntil(() => context.state === "busy");
    await context.close();
    await expect(hanging).rejects.toMatchObject({ code: expect.stringMatching(/^CONTEXT_|^CHECKPOINT_/) });
  });

  it("whose checkpoint is made while it is closed leaves no process", async () => {
    const before = await interpreters();
    for (let round = 0; round < 15; round++) {
      const context = await sandbox.createContext();
      const saving = context.checkpoint();
      saving.catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, round));
      await context.close();
      await saving.catch(() => undefined);
    }
    await waitUntil(async () => (await interpreters()) <= before);
  });

  it("copies of copies have names as well, as deep as they go", async () => {
    let copy = await sandbox.createContext({ id: "a".repeat(90) });
    for (let depth = 0; depth < 16; depth++) {
      const next = await copy.fork();
      await copy.close();
      copy = next;
    }
    expect(value(await copy.run("1"))).toBe("1");
  });
});

/** Shares the file's tests of what a copy has in common with the other: documented, and kept so. */
describe("copies of a context", () => {
  it("share the place in a file that was open, as processes do", async () => {
    const context: CodeContext = await sandbox.createContext();
    await context.run(
      "open('lines.txt', 'w').write('one\\ntwo\\nthree\\n'); f = open('lines.txt', buffering=1)",
    );
    const save = await context.checkpoint();
    await context.run("import os; os.lseek(f.fileno(), 0, os.SEEK_END)");
    await context.rollback(save);
    expect(value(await context.run("f.read()"))).toBe("''");
  });
});

import { afterEach, beforeAll, describe, expect, it } from "vitest";
import { openManager } from "../../../../test/setup/open-manager.js";
import { waitUntil } from "../../../kit/wait-until.js";
import type { RunningSandbox } from "../index.js";

/** Forks twice, so that the second child is nobody's, and says what waiting for children gives. */
const ORPHANS = `
import os
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0: os._exit(7)
        os._exit(0)
    assert os.waitpid(pid, 0) == (pid, 0)
try: print("a stranger", os.wait())
except ChildProcessError: print("none")
`;

/** More double forks than there may be processes. */
const MANY = `
import os
for _ in range(100):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
print("all")
`;

/** Leaves a process in a session of its own behind. */
const leave = (mark: number) => `
import os
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: os.execvp("sleep", ["sleep", "${mark}"])
    os._exit(0)
os.wait()
`;

let sandbox: RunningSandbox;

beforeAll(async () => {
  const manager = openManager({ backend: "bubblewrap" });
  sandbox = await manager.startSandbox("orphans", { limits: { pids: 64 } });
  await sandbox.prewarm("python");
});

afterEach(() => Promise.all(sandbox.listContexts().map((context) => context.close())));

async function sleeping(mark: number): Promise<number> {
  return Number((await sandbox.exec(["pgrep", "-f", "-c", `^sleep ${mark}`])).stdout);
}

/** How a program of Python can run. */
const WAYS: Readonly<
  Record<string, (code: string) => Promise<{ readonly stdout: string; readonly stderr: string }>>
> = {
  "a cold program": (code) => sandbox.exec(["python3", "-c", code]),
  "a warm program": (code) => sandbox.runCode(code, { language: "python" }),
  "a context": async (code) => (await sandbox.createContext()).run(code),
  "a copy of a context": async (code) => {
    const context = await sandbox.createContext();
    return (await context.fork()).run(code);
  },
};

describe.each(Object.entries(WAYS))("%s", (_, run) => {
  it("waits for its own children only, whatever they leave behind", async () => {
    expect(await run(ORPHANS)).toMatchObject({ stdout: "none\n", stderr: "" });
  });

  it("forks twice as often as it likes", async () => {
    expect(await run(MANY)).toMatchObject({ stdout: "all\n", stderr: "" });
  });
});

it("kills what a command left behind at its end, and nothing of another one", async () => {
  const context = await sandbox.createContext();
  await context.run(leave(761));
  const copy = await context.fork();
  await copy.run(leave(762));
  await waitUntil(async () => (await sleeping(761)) + (await sleeping(762)) === 2);
  await sandbox.exec(["python3", "-c", leave(763)]);
  await sandbox.runCode(leave(764), { language: "python" });
  const counts = () => Promise.all([761, 762, 763, 764].map(sleeping));
  expect(await counts()).toEqual([1, 1, 0, 0]);
  await copy.close();
  expect(await counts()).toEqual([1, 0, 0, 0]);
  await context.close();
  expect(await counts()).toEqual([0, 0, 0, 0]);
});

it("kills what pretends to be left behind by another command", async () => {
  const context = await sandbox.createContext();
  const { stdout } = await context.run("import os; print(os.getpid())");
  const pid = Number(stdout);
  const forge = (target: number) => `
import os, resource
def attempt(limit, value):
    try: resource.setrlimit(limit, (value, value))
    except (OSError, ValueError): pass
if os.fork() == 0:
    os.setsid()
    attempt(10, (1 << 62) + (${target} << 23)); attempt(15, (1 << 62) - (${target} << 23))
    if os.fork() == 0: os.execvp("sleep", ["sleep", "765"])
    os._exit(0)
os.wait()
`;
  // Below this command's own pid, and above it.
  for (const target of [pid, pid + 100_000]) await sandbox.exec(["python3", "-c", forge(target)]);
  expect(await sleeping(765)).toBe(0);
  await context.close();
});

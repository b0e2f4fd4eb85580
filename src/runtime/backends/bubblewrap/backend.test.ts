import { execFile } from "node:child_process";
import { randomInt } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { parseConfig } from "../../../core/config/index.js";
import type { SandboxManager, SandboxManagerOptions } from "../../../core/manager/index.js";
import { waitUntil } from "../../../kit/wait-until.js";

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
let directory: string;

beforeEach(() => {
  directory = temporaryDirectory();
});

function createManager(options: SandboxManagerOptions = {}): SandboxManager {
  return openManager({ backend: "bubblewrap", stateDir: join(directory, "state"), ...options });
}

/** Opens a session in a process of its own and runs a shell command in it. */
async function runElsewhere(key: string, command: string): Promise<string> {
  const script =
    `const { SandboxManager } = await import(${JSON.stringify(import.meta.resolve("skerry"))});\n` +
    `const manager = new SandboxManager({ stateDir: ${JSON.stringify(join(directory, "state"))} });\n` +
    `const sandbox = await manager.startSandbox(${JSON.stringify(key)});\n` +
    `console.log((await sandbox.exec(${JSON.stringify(command)})).stdout);\nawait manager.close();`;
  return (await run(process.execPath, ["--input-type=module", "-e", script])).stdout.trim();
}

/** A command that says that it runs, and goes on when it is told to. */
const WAIT_FOR_GO = "touch waiting; until [ -e go ]; do sleep 0.05; done";

describe("bubblewrap", () => {
  it("shares a session's files between processes that use it at the same time", async () => {
    const manager = createManager();
    const sandbox = await manager.startSandbox("shared");
    await sandbox.exec("echo from-here > a");
    expect(await runElsewhere("shared", "cat a; echo from-there > b; id -u")).toBe("from-here\n1000");
    expect(await sandbox.files.readText("b")).toBe("from-there\n");
    // The first one leaves while another one still works, and comes back.
    const elsewhere = runElsewhere("shared", `${WAIT_FOR_GO}; cat a b; echo late > c`);
    await waitUntil(() => sandbox.files.exists("waiting"));
    await manager.cleanupSession("shared");
    const again = await manager.startSandbox("shared");
    await again.files.write("go", "");
    expect(await elsewhere).toBe("from-here\nfrom-there");
    expect(await again.files.readText("c")).toBe("late\n");
  });

  it("lets a third process join a session whose first one has left", async () => {
    const manager = createManager();
    const first = await manager.startSandbox("relay");
    await first.exec("echo first > a");
    const second = runElsewhere("relay", `${WAIT_FOR_GO}; cat a`);
    await waitUntil(() => first.files.exists("waiting"));
    await manager.cleanupSession("relay");
    expect(await runElsewhere("relay", "cat a; touch go")).toBe("first");
    expect(await second).toBe("first");
  });

  it("opens one session from many processes at once", async () => {
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        runElsewhere("crowd", `echo ${index} > f${index}; cat f${index}`),
      ),
    );
    expect(answers).toEqual(["0", "1", "2", "3", "4", "5"]);
    const sandbox = await createManager().startSandbox("crowd");
    expect((await sandbox.files.list()).map(({ path }) => path)).toEqual([
      "f0",
      "f1",
      "f2",
      "f3",
      "f4",
      "f5",
    ]);
  });

  it("shows shared paths read-only, and hides what is denied in them", async () => {
    const shared = join(directory, "data");
    mkdirSync(join(shared, "private"), { recursive: true });
    writeFileSync(join(shared, "public.txt"), "public");
    writeFileSync(join(shared, "private/key"), "secret");
    writeFileSync(join(shared, "server.pem"), "secret");
    const config = await parseConfig({
      sandbox: { filesystem: { allowRead: [shared], denyRead: [join(shared, "private"), "*.pem"] } },
    });
    const sandbox = await createManager({ config }).startSandbox("s");
    const result = await sandbox.exec(
      `cd ${shared} && cat public.txt private/key server.pem; ls private; touch new`,
    );
    expect(result.stdout).toBe("public");
    expect(result.stderr).toContain("Read-only file system");
  });

  it("remembers the size a session's workspace was made with", async ({ skip }) => {
    if (!isRoot) skip("only root can limit a workspace");
    const manager = createManager();
    await manager.startSandbox("s", { limits: { workspaceMb: 64 } });
    await manager.cleanupSession("s");
    const again = await manager.startSandbox("s");
    expect((await again.exec("df -m --output=size /workspace | tail -1")).stdout.trim()).toMatch(/^[56]\d$/);
    await manager.cleanupSession("s");
    await expect(manager.startSandbox("s", { limits: { workspaceMb: 32 } })).rejects.toMatchObject({
      code: "LIMIT_UNENFORCEABLE",
    });
  });

  it("gives nothing of one throw-away sandbox to the next", async () => {
    const manager = createManager();
    const code = "ls -A /workspace /tmp /dev/shm; touch /workspace/a /tmp/b /dev/shm/c; chmod 000 /workspace";
    for (let round = 0; round < 4; round++) {
      const { stdout, success } = await manager.runCodeOnce(code, { language: "bash" });
      expect([stdout, success]).toEqual(["/dev/shm:\n\n/tmp:\n\n/workspace:\nmain.sh\n", true]);
    }
  });

  it("runs each session as a user of its own, and no one as root", async ({ skip }) => {
    if (!isRoot) skip("only root has users to give");
    const manager = createManager();
    // No other process on this host sleeps for so long.
    const duration = `30.${process.pid}`;
    const uids = await Promise.all(
      ["a", "b"].map(async (key) => {
        const sandbox = await manager.startSandbox(key);
        const sleeping = sandbox.exec(["sleep", duration])[Symbol.asyncIterator]();
        const started = await sleeping.next();
        expect(started.value).toMatchObject({ type: "started" });
        return ownersOf(`sleep\u0000${duration}\u0000`);
      }),
    );
    const all = new Set(uids.flat());
    expect(all.size).toBe(2);
    expect([...all].every((uid) => uid >= 1_900_000_000)).toBe(true);
  });

  it("loses the sandboxes of a launcher that is killed, no other, and starts the next one", async () => {
    const manager = createManager();
    // The first sandbox has a launcher of its own.
    const [alone, ...together] = await inOrder(["a", "b", "c"], (key) => manager.startSandbox(key));
    const sleeping = `4${randomInt(2 ** 40)}`;
    const lost = together.map((sandbox) =>
      sandbox.exec(["sh", "-c", `(setsid sleep ${sleeping} &); sleep ${sleeping}`]),
    );
    const isSleeping = () => processesWith(`sleep\0${sleeping}\0`).length;
    await expect.poll(isSleeping).toBe(4);
    process.kill(launcherOf(processesWith(`sleep\0${sleeping}\0`)[0]!), "SIGKILL");
    for (const execution of lost) await expect(execution).rejects.toMatchObject({ code: "SANDBOX_LOST" });
    await expect.poll(isSleeping).toBe(0);
    expect((await alone!.exec("echo still here")).stdout).toBe("still here\n");
    expect((await (await manager.startSandbox("d")).exec("echo new")).stdout).toBe("new\n");
  });
});

async function inOrder<T, R>(items: readonly T[], action: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (const item of items) results.push(await action(item));
  return results;
}

/** Our own child that a process of a sandbox descends from. */
function launcherOf(pid: number): number {
  const parent = Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]);
  return parent === process.pid ? pid : launcherOf(parent);
}

/** Real user ids, as the host sees them, of processes with that command line. */
function ownersOf(cmdline: string): number[] {
  return processesWith(cmdline).flatMap((pid) => {
    try {
      return [Number(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1])];
    } catch {
      return [];
    }
  });
}

function processesWith(cmdline: string): number[] {
  return readdirSync("/proc").flatMap((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8") === cmdline
        ? [Number(name)]
        : [];
    } catch {
      return [];
    }
  });
}

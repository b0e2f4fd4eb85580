import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { waitUntil } from "../../kit/wait-until.js";
import type { BackendFactory } from "../../runtime/backends/backend.js";
import { registerBackend } from "../../runtime/backends/registry.js";
import { createSubprocessBackend } from "../../runtime/backends/subprocess/backend.js";
import { parseConfig } from "../config/index.js";
import { runCodeOnce, SandboxManager, type SandboxManagerOptions, SessionSandbox } from "./index.js";

/** The real subprocess backend, with failures on demand. */
const faults = { create: 0, destroy: 0, created: 0, reaped: 0 };
const createFaulty: BackendFactory = (context) => {
  const real = createSubprocessBackend(context);
  return {
    name: "faulty",
    probe: () => real.probe(),
    async reap() {
      faults.reaped++;
      return 0;
    },
    async create(spec) {
      faults.created++;
      if (faults.create-- > 0) throw new Error("no luck");
      const instance = await real.create(spec);
      const fails = faults.destroy-- > 0;
      return {
        id: instance.id,
        runner: instance.runner,
        guestWorkspace: instance.guestWorkspace,
        hostWorkspace: instance.hostWorkspace,
        guestRuntime: instance.guestRuntime,
        baseEnv: instance.baseEnv,
        memoryKills: () => instance.memoryKills(),
        async destroy() {
          await instance.destroy();
          if (fails) throw new Error("cannot destroy");
        },
      };
    },
  };
};
registerBackend("faulty", createFaulty);

let stateDir: string;
const managers: SandboxManager[] = [];

beforeEach(() => {
  stateDir = temporaryDirectory();
  Object.assign(faults, { create: 0, destroy: 0, created: 0, reaped: 0 });
});

afterEach(() => Promise.allSettled(managers.splice(0).map((manager) => manager.close())));

function createManager(options: SandboxManagerOptions = {}): SandboxManager {
  const manager = new SandboxManager({ backend: "faulty", stateDir, handleSignals: false, ...options });
  managers.push(manager);
  return manager;
}

describe("SandboxManager", () => {
  it("creates one sandbox for calls that come at the same time", async () => {
    const manager = createManager();
    const sandboxes = await Promise.all(Array.from({ length: 20 }, () => manager.startSandbox("chat:42")));
    expect(new Set(sandboxes).size).toBe(1);
    expect(faults.created).toBe(1);
  });

  it("gives each session its own sandbox and directory, however alike the names are", async () => {
    const manager = createManager();
    const keys = ["a:b", "a_b", "A:b", "a b", "a.b"];
    for (const key of keys) await (await manager.startSandbox(key)).files.write("who", key);
    for (const key of keys) expect(await (await manager.startSandbox(key)).files.readText("who")).toBe(key);
    expect(readdirSync(join(stateDir, "sessions")).length).toBe(keys.length);
  });

  it("does not remember a failed start, and leaves nothing of it", async () => {
    const manager = createManager();
    faults.create = 1;
    const attempts = await Promise.allSettled([manager.startSandbox("s"), manager.startSandbox("s")]);
    expect(attempts.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(attempts[0]).toMatchObject({ reason: { code: "SANDBOX_START_FAILED", message: "no luck" } });
    expect(readdirSync(join(stateDir, "sessions"))).toEqual([]);
    expect((await (await manager.startSandbox("s")).exec(["echo", "hi"])).stdout).toBe("hi\n");
  });

  it("starts a new sandbox with the same files after the old one was lost", async () => {
    const manager = createManager();
    const first = await manager.startSandbox("s");
    await first.files.write("kept", "1");
    await first.exec(["sh", "-c", "kill -9 $PPID"]).catch(() => undefined);
    await waitUntil(() => !first.isRunning);
    const second = await manager.startSandbox("s");
    expect(second.id).not.toBe(first.id);
    expect(await second.files.readText("kept")).toBe("1");
  });

  it("cleans up all sandboxes past failures, and reports them together", async () => {
    const manager = createManager();
    faults.destroy = 2;
    const sandboxes = await Promise.all(["a", "b", "c", "d"].map((key) => manager.startSandbox(key)));
    await expect(manager.cleanupAll()).rejects.toMatchObject({
      code: "INTERNAL",
      message: expect.stringContaining("2 sandboxes could not be cleaned up: "),
    });
    expect(sandboxes.every((sandbox) => !sandbox.isRunning)).toBe(true);
  });

  it("shares one sandbox in mode shared, and refuses in mode disabled or when switched off", async () => {
    const shared = createManager({ mode: "shared" });
    expect(await shared.startSandbox("a")).toBe(await shared.startSandbox("b"));
    await expect(createManager({ mode: "disabled" }).startSandbox("a")).rejects.toMatchObject({
      code: "SANDBOX_DISABLED",
    });
    const config = await parseConfig({ sandbox: { enabled: false } });
    await expect(createManager({ config }).startSandbox("a")).rejects.toMatchObject({
      code: "SANDBOX_DISABLED",
    });
  });

  it("stops an idle sandbox, but not one that works", async () => {
    const config = await parseConfig({ sandbox: { runtime: { idleTimeout: "400ms" } } });
    const manager = createManager({ config });
    const busy = await manager.startSandbox("busy");
    const work = busy.exec("until [ -e enough ]; do sleep 0.05; done");
    const idle = await manager.startSandbox("idle");
    await waitUntil(() => !idle.isRunning);
    expect(busy.isRunning).toBe(true);
    await busy.files.write("enough", "");
    expect((await work).exitCode).toBe(0);
    await waitUntil(() => !busy.isRunning);
    expect(
      (await manager.listSessions()).map(({ sessionId, running }) => [sessionId, running]).sort(),
    ).toEqual([
      ["busy", false],
      ["idle", false],
    ]);
  });

  it("stops a sandbox that is too old, even one that works", async () => {
    const config = await parseConfig({ sandbox: { runtime: { maxAge: "300ms" } } });
    const sandbox = await createManager({ config }).startSandbox("s");
    await expect(sandbox.exec(["sleep", "10"])).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
  });

  it("deletes a session with its files, and says whether there was one", async () => {
    const manager = createManager();
    await (await manager.startSandbox("s")).files.write("f", "x");
    expect(manager.hasSession("s")).toBe(true);
    expect(await manager.deleteSession("s")).toBe(true);
    expect(await manager.deleteSession("s")).toBe(false);
    expect(readdirSync(join(stateDir, "sessions"))).toEqual([]);
  });

  it("fills a new workspace from the source directory, once", async () => {
    const source = join(stateDir, "source");
    mkdirSync(join(source, "init/sub"), { recursive: true });
    mkdirSync(join(source, "skills"));
    writeFileSync(join(source, "init/sub/a.txt"), "init");
    writeFileSync(join(source, "skills/s.md"), "skill");
    writeFileSync(join(source, "AGENTS.md"), "not with an init directory");
    const manager = createManager({ config: await parseConfig({ sandbox: { workspace: { source } } }) });
    const sandbox = await manager.startSandbox("s");
    expect((await sandbox.files.list(".", { recursive: true })).map(({ path }) => path)).toEqual([
      "skills",
      "skills/s.md",
      "sub",
      "sub/a.txt",
    ]);
    await sandbox.files.remove("skills", { recursive: true });
    await manager.cleanupSession("s");
    expect(await (await manager.startSandbox("s")).files.exists("skills")).toBe(false);
  });

  it("leaves no session behind when its workspace cannot be filled", async () => {
    const source = join(stateDir, "source");
    mkdirSync(join(source, "init"), { recursive: true });
    symlinkSync("/etc/passwd", join(source, "init/link"));
    const manager = createManager({ config: await parseConfig({ sandbox: { workspace: { source } } }) });
    await expect(manager.startSandbox("s")).rejects.toMatchObject({ code: expect.any(String) });
    expect(readdirSync(join(stateDir, "sessions"))).toEqual([]);
  });

  it("runs a program once without leaving anything", async () => {
    const result = await runCodeOnce(
      "echo $1 > f; cat f",
      { language: "bash", args: ["once"] },
      { backend: "faulty", stateDir },
    );
    expect(result).toMatchObject({
      success: true,
      stdout: "once\n",
      sandboxType: "faulty",
      filesWritten: ["f"],
    });
    expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
  });

  it("offers a session as a scope that ends with the block", async () => {
    const session = await SessionSandbox.open("scoped", { backend: "faulty", stateDir });
    expect((await session.exec(["echo", "in"])).stdout).toBe("in\n");
    await session[Symbol.asyncDispose]();
    expect(session.sandbox.isRunning).toBe(false);
    const again = await SessionSandbox.open(undefined, { backend: "faulty", stateDir });
    await again.close();
    expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
  });

  it("hands out a temporary session, whose files go with its sandbox", async () => {
    const manager = createManager();
    const kept = await manager.getSandbox("s");
    await kept.files.write("f", "kept");
    const sandbox = await manager.getSandbox("s", { ephemeral: true });
    await sandbox.files.write("f", "temporary");
    expect(await sandbox.exec("cat f")).toMatchObject({ stdout: "temporary", sessionId: sandbox.sessionId });
    expect(await kept.files.read("f")).toBe("kept");
    const [snapshot, forked] = [await sandbox.snapshots.create(), await sandbox.fork()];
    expect([snapshot.files, await forked.files.read("f")]).toEqual([1, "temporary"]);
    await forked.close();
    await sandbox.close();
    await expect(sandbox.files.read("f")).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
    expect((await manager.listSessions()).map(({ sessionId }) => sessionId)).toEqual(["s"]);
    expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
    expect(readdirSync(join(stateDir, "sessions"))).toHaveLength(1);
  });

  it("makes the forks of a temporary session temporary, and frees their names", async () => {
    const manager = createManager();
    const sandbox = await manager.getSandbox("s", { ephemeral: true });
    const first = await sandbox.fork({ sessionId: "named" });
    await expect(sandbox.fork({ sessionId: "named" })).rejects.toMatchObject({ code: "CONFLICT" });
    const second = await first.fork();
    await second.files.write("f", "of a fork's fork");
    expect(await manager.listSessions()).toEqual([]);
    await first.close();
    await (await manager.getSandbox("named")).files.write("f", "kept");
    await manager.close();
    expect(await second.files.read("f").catch(({ code }) => code)).toBe("SANDBOX_NOT_RUNNING");
    expect(readdirSync(join(stateDir, "sessions"))).toEqual([expect.stringMatching(/^named/)]);
  });

  it("never chooses a backend without walls by itself", async () => {
    const config = await parseConfig({
      sandbox: { backends: { bubblewrap: { path: "/nonexistent/bwrap" } } },
    });
    const manager = createManager({ backend: "auto", config });
    await expect(manager.startSandbox("s")).rejects.toMatchObject({
      code: "BACKEND_UNAVAILABLE",
      hint: expect.stringContaining("bubblewrap"),
    });
    expect(faults.created).toBe(0);
  });

  it("refuses rules for single domains while no backend can enforce them", async () => {
    const config = await parseConfig({ sandbox: { network: { allowedDomains: ["example.com"] } } });
    await expect(createManager({ config }).startSandbox("s")).rejects.toMatchObject({ code: "UNSUPPORTED" });
  });

  it.each([
    ["claims a shared workspace and gives none", true],
    ["gives a shared workspace and claims none", false],
  ])("refuses a backend that %s, and leaves nothing", async (_, claimed) => {
    const name = claimed ? "claims-too-much" : "claims-too-little";
    const stopped: string[] = [];
    registerBackend(name, (context) => {
      const real = createSubprocessBackend(context);
      return {
        name,
        async probe() {
          const probe = await real.probe();
          return { ...probe, capabilities: { ...probe.capabilities, sharedWorkspace: claimed } };
        },
        reap: async () => 0,
        async create(spec) {
          const instance = await real.create(spec);
          const { id, runner, guestWorkspace, guestRuntime, baseEnv } = instance;
          return {
            ...{ id, runner, guestWorkspace, guestRuntime, baseEnv },
            hostWorkspace: claimed ? undefined : guestWorkspace,
            memoryKills: async () => undefined,
            destroy: async () => {
              await instance.destroy();
              stopped.push(name);
            },
          };
        },
      };
    });
    await expect(createManager({ backend: name }).startSandbox("s")).rejects.toMatchObject({
      code: "INTERNAL",
      message: expect.stringContaining(name),
      hint: expect.stringContaining("sharedWorkspace"),
    });
    expect(stopped).toEqual([name]);
    expect(readdirSync(join(stateDir, "sessions"))).toEqual([]);
  });

  it("cannot be used after it was closed", async () => {
    const manager = createManager();
    await manager.close();
    await expect(manager.startSandbox("s")).rejects.toMatchObject({
      code: "SANDBOX_NOT_RUNNING",
      hint: "Make a new manager: sessions and their files are still there.",
      retryable: false,
    });
  });

  it("leaves no sandbox running when one is asked for while it closes", async () => {
    const manager = createManager();
    await manager.startSandbox("a");
    const cleaning = manager.cleanupAll();
    const late = await manager.startSandbox("b");
    await cleaning;
    const closing = manager.close();
    const refused = manager.startSandbox("c").catch((error: unknown) => error);
    await closing;
    expect(late.isRunning).toBe(false);
    expect(await refused).toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
  });

  it("keeps a session that another process has started when its own start fails", async () => {
    const [slow, quick] = [createManager(), createManager()];
    faults.create = 1;
    await expect(slow.startSandbox("s")).rejects.toMatchObject({ code: "SANDBOX_START_FAILED" });
    await (await quick.startSandbox("s")).files.write("kept", "1");
    faults.create = 1;
    await expect(slow.startSandbox("s")).rejects.toMatchObject({ code: "SANDBOX_START_FAILED" });
    expect(await (await quick.startSandbox("s")).files.readText("kept")).toBe("1");
  });

  it("lets one caller's signal go without the others, and refuses other limits for a running sandbox", async () => {
    const manager = createManager();
    const controller = new AbortController();
    const impatient = manager.startSandbox("s", { signal: controller.signal });
    const patient = manager.startSandbox("s");
    controller.abort();
    await expect(impatient).rejects.toMatchObject({ code: "CANCELLED" });
    expect((await patient).isRunning).toBe(true);
    await expect(manager.startSandbox("s", { limits: { memoryMb: 64 } })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  it("keeps mode shared apart from a session of that name, and refuses unknown modes", async () => {
    const shared = createManager({ mode: "shared" });
    await (await shared.startSandbox("anyone")).files.write("ours", "1");
    expect(await (await createManager().startSandbox("shared")).files.exists("ours")).toBe(false);
    expect(shared.hasSession("somebody else")).toBe(true);
    expect(() => createManager({ mode: "perSession" as "shared" })).toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });

  it("counts terminals and files as use, and ends neither by crashing", async () => {
    const manager = createManager({
      config: await parseConfig({ sandbox: { runtime: { idleTimeout: "2s" } } }),
    });
    const [typed, read] = await Promise.all([manager.startSandbox("t"), manager.startSandbox("f")]);
    const terminal = await typed.terminal({ rows: 24, columns: 80, argv: ["cat"] });
    terminal.output.resume();
    // Once one that nobody uses is gone, these have been looked at, too.
    const unused = await manager.startSandbox("u");
    await waitUntil(async () => {
      await read.files.exists("x");
      return !unused.isRunning;
    });
    expect([typed.isRunning, read.isRunning]).toEqual([true, true]);
    await manager.close();
    await expect(terminal.exit).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
    await expect(read.files.read("x")).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
  });

  it("does not act on a state directory that another user could have made", async () => {
    const victim = join(stateDir, "photos");
    mkdirSync(join(victim, "2024-01-holiday"), { recursive: true });
    mkdirSync(join(stateDir, "state"));
    symlinkSync(victim, join(stateDir, "state/ephemeral"));
    const manager = createManager({ stateDir: join(stateDir, "state") });
    await expect(manager.reap()).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    expect(readdirSync(victim)).toEqual(["2024-01-holiday"]);
  });

  it.each(["SIGINT", "SIGTERM"] as const)(
    "cleans up when the process gets %s, and ends by it",
    async (signal) => {
      const script =
        `const { SandboxManager } = await import(${JSON.stringify(import.meta.resolve("skerry"))});\n` +
        `const manager = new SandboxManager({ backend: "subprocess", stateDir: ${JSON.stringify(stateDir)} });\n` +
        `const sandbox = await manager.startSandbox("s", { ephemeral: true });\n` +
        `sandbox.exec(["sleep", "60"]).catch(() => undefined); console.log("up"); setInterval(() => undefined, 1000);`;
      const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
        stdio: ["ignore", "pipe", "inherit"],
      });
      await once(child.stdout, "data");
      child.kill(signal);
      expect(await once(child, "exit")).toEqual([null, signal]);
      expect(readdirSync(join(stateDir, "ephemeral"))).toEqual([]);
    },
  );
});

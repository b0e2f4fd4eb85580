import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { requires } from "../../test/setup/requires.js";
import { AuditLogger, type AuditRecord, createCallbackSink } from "../audit/index.js";
import type { BackendFactory, CreateSpec, Instance } from "../backends/backend.js";
import { createBubblewrapBackend } from "../backends/bubblewrap/index.js";
import { registerBackend } from "../backends/registry.js";
import { parseConfig } from "../config/index.js";
import { parsePolicy } from "../policy/index.js";
import { PoolManager, type PoolOptions } from "../pool/index.js";
import { waitUntil } from "../testing/wait-until.js";
import { SandboxManager, type SandboxManagerOptions } from "./index.js";

/** Real bubblewrap; what it started can be seen, and a start can be made to fail. */
const seen = { instances: [] as Instance[], specs: [] as CreateSpec[], faults: 0 };
const createWatched =
  (name: string, recycles: boolean): BackendFactory =>
  (context) => {
    const real = createBubblewrapBackend(context);
    const create = async (spec: CreateSpec) => {
      if (seen.faults-- > 0) throw new Error("no luck");
      const instance = await real.create(spec);
      seen.instances.push(instance);
      seen.specs.push(spec);
      return instance;
    };
    return {
      name,
      probe: (options) => real.probe(options),
      reap: () => real.reap(),
      create,
      ...(recycles && {
        async recycle(used: Instance, spec: CreateSpec) {
          await used.destroy();
          return create(spec);
        },
      }),
    };
  };
registerBackend("watched", createWatched("watched", false));
registerBackend("recycling", createWatched("recycling", true));

/** The same where no interpreter is found. */
registerBackend("bare", (context) => {
  const walls = createBubblewrapBackend(context);
  return {
    name: "bare",
    probe: (options) => walls.probe(options),
    reap: () => walls.reap(),
    async create(spec) {
      const instance = await walls.create(spec);
      const { id, runner, guestWorkspace, guestRuntime, hostWorkspace } = instance;
      return {
        ...{ id, runner, guestWorkspace, guestRuntime, hostWorkspace },
        baseEnv: { PATH: "/nowhere" },
        memoryKills: () => instance.memoryKills(),
        destroy: () => instance.destroy(),
      };
    },
  };
});

const real = requires("root", "bubblewrap", "cgroups", "python3");
const PRINT = { language: "python", code: "print(1)" };
let stateDir: string;
const managers: SandboxManager[] = [];

beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "skerry-pool-"));
  chmodSync(stateDir, 0o711);
  Object.assign(seen, { instances: [], specs: [], faults: 0 });
});

afterEach(async () => {
  await Promise.allSettled(managers.splice(0).map((manager) => manager.close()));
  rmSync(stateDir, { recursive: true, force: true });
});

function open(options: PoolOptions = {}, more: SandboxManagerOptions = {}) {
  const pool = new PoolManager({ backend: "watched", minInstances: 1, maxInstances: 4, ...options });
  const manager = new SandboxManager({ stateDir, handleSignals: false, pool, ...more });
  managers.push(manager);
  return { pool, manager };
}

async function ready(pool: PoolManager, idle = 1): Promise<void> {
  await waitUntil(() => pool.status().idle >= idle, 20_000);
}

const left = (folder: string) => readdirSync(join(stateDir, folder));

real.describe("a manager with a pool", () => {
  it("hands a prepared sandbox to a call without a session, which is gone afterwards", async () => {
    const { pool, manager } = open({ preload: ["python"] });
    await ready(pool);
    const [prepared] = seen.instances;
    const first = await manager.execute(PRINT);
    expect(first).toMatchObject({ stdout: "1\n", sandboxId: prepared?.id, warm: true });
    expect(first.sessionId).toMatch(/^once-/);
    await ready(pool);
    const second = await manager.execute(PRINT);
    expect(second.sandboxId).not.toBe(first.sandboxId);
    expect(pool.status()).toMatchObject({ hits: 2, misses: 0, failures: 0 });
    await manager.close();
    expect([left("ephemeral"), left("sessions"), left("owners")]).toEqual([[], [], []]);
  });

  it("makes a new session of a prepared sandbox, whose files outlive the pool", async () => {
    const { pool, manager } = open({ preload: ["python"] });
    await ready(pool);
    const [prepared] = seen.instances;
    const result = await manager.execute({
      ...PRINT,
      code: "open('kept','w').write('1')",
      sessionId: "chat:1",
    });
    expect(result).toMatchObject({ sandboxId: prepared?.id, sessionId: "chat:1", filesWritten: ["kept"] });
    expect((await manager.getSandbox("chat:1")).id).toBe(prepared?.id);
    expect(await manager.listSessions()).toMatchObject([{ key: "chat:1", running: true }]);
    expect(pool.status()).toMatchObject({ hits: 1, misses: 0 });
    await manager.cleanupSession("chat:1");
    await waitUntil(() => pool.status().busy === 0);
    // An existing session has its own files: made to order.
    expect(await (await manager.getSandbox("chat:1")).files.readText("kept")).toBe("1");
    expect(pool.status()).toMatchObject({ hits: 1, misses: 1 });
    await manager.close();

    const plain = new SandboxManager({ backend: "bubblewrap", stateDir, handleSignals: false });
    managers.push(plain);
    expect(await (await plain.getSandbox("chat:1")).files.readText("kept")).toBe("1");
    expect(await plain.deleteSession("chat:1")).toBe(true);
    expect([left("sessions"), left("owners")]).toEqual([[], []]);
  });

  it("keeps the session's user when the process that adopted it is gone", async () => {
    const { pool, manager } = open();
    await ready(pool);
    await manager.getSandbox("s");
    const [session] = left("sessions");
    const { uid } = JSON.parse(readFileSync(join(stateDir, "sessions", session!, "session.json"), "utf8"));
    expect(readFileSync(join(stateDir, "owners", String(uid)), "utf8").split("\n")[1]).toBe(
      `sessions/${session}`,
    );
  });

  it("gives two managers that make the same session at once the same files", async () => {
    const [one, two] = [open(), open()];
    await Promise.all([ready(one.pool), ready(two.pool)]);
    const [mine, theirs] = await Promise.all([one.manager.getSandbox("s"), two.manager.getSandbox("s")]);
    await mine.files.write("who", "mine");
    expect(await theirs.files.readText("who")).toBe("mine");
    expect(left("sessions").length).toBe(1);
    // The loser's prepared one was nobody's, and is gone.
    expect([one, two].map(({ pool }) => pool.status().misses).sort()).toEqual([0, 1]);
    await Promise.all([one.manager.close(), two.manager.close()]);
    expect([left("sessions").length, left("owners").length, left("ephemeral").length]).toEqual([1, 1, 0]);
  });

  it("never hands out one that died while it waited", async () => {
    const { pool, manager } = open();
    await ready(pool);
    const pid = Number(/^\/proc\/(\d+)\//.exec(seen.instances[0]?.hostWorkspace ?? "")?.[1]);
    process.kill(pid, "SIGKILL");
    expect(await manager.execute(PRINT)).toMatchObject({ stdout: "1\n" });
    expect(pool.status().failures).toBe(1);
    await manager.close();
    expect([left("ephemeral"), left("owners")]).toEqual([[], []]);
  });

  it("frees the place of a sandbox that its user stops, and of one that dies", async () => {
    const { pool, manager } = open({ minInstances: 0, maxInstances: 1, acquireTimeoutMs: 5000 });
    const first = await manager.getSandbox("once", { ephemeral: true });
    expect(first.sessionId).toBe("once");
    await first.stop();
    const second = await manager.getSandbox("s");
    await second.exec(["sh", "-c", "kill -9 -1"]).catch(() => undefined);
    seen.instances.at(-1)?.runner.close(new Error("lost"));
    expect(await manager.execute(PRINT)).toMatchObject({ stdout: "1\n" });
    expect(pool.status()).toMatchObject({ busy: 0, timeouts: 0 });
  });

  it("runs many calls one after the other where only one sandbox may be", async () => {
    const { pool, manager } = open({ minInstances: 1, maxInstances: 1 });
    const ended: number[] = [];
    await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        const { stdout } = await manager.execute({ command: `echo ${index}` });
        ended.push(Number(stdout));
        expect(pool.status().instances.length).toBeLessThanOrEqual(1);
      }),
    );
    expect(ended).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  });

  it("makes what other limits or another backend ask for to order, within the maximum", async () => {
    const policy = parsePolicy(
      `
policies:
  tools:
    shell_exec: {}
  agent_roles:
    small: { tools: [shell_exec], max_memory: 128MB }
    usual: { tools: [shell_exec], max_memory: 512MB }
`,
      "policy.yaml",
    );
    const { pool, manager } = open(
      { maxInstances: 2, limits: { memoryMb: 512 } },
      { policy, securityMode: "permissive" },
    );
    await ready(pool);
    const limit = "cat /sys/fs/cgroup/memory.max 2>/dev/null; true";
    await manager.execute({ role: "usual", command: limit });
    expect(pool.status()).toMatchObject({ hits: 1, misses: 0 });
    await manager.execute({ role: "small", command: limit });
    expect(pool.status()).toMatchObject({ hits: 1, misses: 1 });
    expect(seen.specs.map(({ limits }) => limits.memoryMb).sort()).toContain(128);
    const other = await manager.execute({ role: "usual", command: "true", backend: "bubblewrap" });
    expect(other.sandboxType).toBe("bubblewrap");
    expect(pool.status()).toMatchObject({ hits: 1, misses: 2 });
    expect(pool.status().instances.length).toBeLessThanOrEqual(2);
  });

  it("names the session in every record, never what the sandbox was before", async () => {
    const records: AuditRecord[] = [];
    const audit = new AuditLogger({ sinks: [createCallbackSink((record) => void records.push(record))] });
    const config = await parseConfig({ sandbox: { network: { allowedDomains: ["reachable.example"] } } });
    const { pool, manager } = open({}, { audit, config });
    await ready(pool);
    const curl = "curl -sS -m 10 http://denied.example/ || true";
    const { sandboxId } = await manager.execute({ command: `cat .bashrc 2>&1; ${curl}`, sessionId: "ann" });
    await ready(pool);
    const thrownAway = await manager.execute({ command: curl });
    await manager.close();
    await audit.close();
    const whose = (type: string) =>
      records
        .filter(({ event_type }) => event_type === type)
        .map(({ session_id, sandbox_id }) => ({ session_id, sandbox_id }));
    const expected = [
      { session_id: "ann", sandbox_id: sandboxId },
      { session_id: thrownAway.sessionId, sandbox_id: thrownAway.sandboxId },
    ];
    expect(whose("network")).toEqual(expected);
    expect(whose("sandbox_execution")).toEqual(expected);
    expect(pool.status().hits).toBe(2);
  });

  it("lets a session reach what was changed for it, also in a sandbox that was open before", async () => {
    const config = await parseConfig({ sandbox: { network: { allowedDomains: ["reachable.example"] } } });
    const { pool, manager } = open({ minInstances: 2 }, { config });
    await ready(pool, 2);
    const curl = (host: string) => ["curl", "-sS", "-m", "10", `http://${host}/`];
    const first = await manager.getSandbox("s", { ephemeral: true });
    await first.network.open();
    await manager.getSandbox("s");
    await manager.changeEgress("s", { deny: ["reachable.example"] });
    const second = await manager.getSandbox("s", { ephemeral: true });
    expect((await second.exec(curl("reachable.example"))).stdout).toContain(
      "reachable.example is denied by rule egress deny",
    );
    expect((await first.exec(curl("reachable.example"))).stdout).not.toContain("is denied by rule");
  });

  it("refuses who waits when it closes, and leaves nothing", async () => {
    const { pool, manager } = open({ minInstances: 1, maxInstances: 1 });
    await manager.getSandbox("s");
    const waiting = manager.execute(PRINT).then(
      () => "ran",
      (error: unknown) => error,
    );
    await waitUntil(() => pool.status().waiting === 1);
    await manager.close();
    expect(await waiting).toMatchObject({ code: "SANDBOX_NOT_RUNNING" });
    expect(pool.status().instances).toEqual([]);
    expect([left("ephemeral"), left("sessions").length]).toEqual([[], 1]);
  });

  it("begins anew after everything was cleaned up, and keeps within its maximum", async () => {
    const { pool, manager } = open({ maxInstances: 1 });
    await manager.executeShell({ sessionId: "s", command: "echo kept > f" });
    await manager.cleanupAll();
    expect(pool.status().instances).toEqual([]);
    const [again, other] = await Promise.all([
      manager.executeShell({ sessionId: "s", command: "cat f" }).then(async (result) => {
        await manager.cleanupSession("s");
        return result;
      }),
      manager.execute(PRINT),
    ]);
    expect([again.stdout, other.stdout]).toEqual(["kept\n", "1\n"]);
  });

  it("says once that an interpreter cannot be started ahead, and goes on", async () => {
    const warnings: string[] = [];
    const listen = (warning: Error) => void warnings.push(warning.message);
    process.on("warning", listen);
    try {
      const { pool, manager } = open({ backend: "bare", minInstances: 2, preload: ["python"] });
      await ready(pool, 2);
      expect((await manager.execute({ argv: ["/bin/echo", "here"] })).stdout).toBe("here\n");
      await waitUntil(() => warnings.length > 0);
      expect(warnings.filter((each) => each.includes("ahead"))).toEqual([
        expect.stringContaining("No interpreter can be started ahead for python"),
      ]);
    } finally {
      process.off("warning", listen);
    }
  });

  it("stops a session's sandbox that nobody uses, and keeps its files", async () => {
    const config = await parseConfig({ sandbox: { runtime: { idleTimeout: "300ms" } } });
    const { pool, manager } = open({ minInstances: 0, maxInstances: 1 }, { config });
    await (await manager.getSandbox("a")).files.write("kept", "1");
    // It waits for the only place there is.
    await (await manager.getSandbox("b")).files.write("other", "1");
    expect(await (await manager.getSandbox("a")).files.readText("kept")).toBe("1");
    expect(pool.status().busy).toBe(1);
  });

  it("tells why nothing could be prepared, and recovers", async () => {
    seen.faults = 2;
    const { pool, manager } = open();
    await expect(manager.execute(PRINT)).rejects.toMatchObject({ code: "SANDBOX_START_FAILED" });
    seen.faults = 0;
    await ready(pool);
    expect(await manager.execute(PRINT)).toMatchObject({ stdout: "1\n" });
    await manager.close();
    expect([left("ephemeral"), left("owners")]).toEqual([[], []]);
  });

  it("reuses what a backend can reset: another sandbox, the same user, nothing left of the directory before", async () => {
    const { pool, manager } = open({ backend: "recycling", preload: ["python"], maxInstances: 1 });
    const ids = new Set<string>();
    for (let round = 0; round < 4; round++) {
      const code = "import os; print(os.listdir('.')); open('secret','w')";
      const result = await manager.execute({ language: "python", code, env: {} });
      expect(result).toMatchObject({ stdout: expect.stringMatching(/^\['\S+\.py'\]\n$/), warm: true });
      ids.add(result.sandboxId);
    }
    await ready(pool);
    expect(ids.size).toBe(4);
    expect(pool.status()).toMatchObject({ created: 1, resets: 4, destroyed: 0, failures: 0 });
    expect(new Set(seen.specs.map(({ directory }) => directory.owner?.uid)).size).toBe(1);
    expect(new Set(seen.specs.map(({ directory }) => directory.path)).size).toBe(5);
    expect([left("ephemeral").length, left("owners").length]).toEqual([1, 1]);
    // A session that keeps it takes the user along; the next one has another.
    await manager.getSandbox("s");
    await manager.cleanupSession("s");
    await ready(pool);
    expect(new Set(seen.specs.map(({ directory }) => directory.owner?.uid)).size).toBe(2);
    await manager.close();
    expect([left("ephemeral").length, left("owners").length]).toEqual([0, 1]);
  });

  it("destroys what cannot be reset, and leaves nothing of it", async () => {
    const { pool, manager } = open({ backend: "recycling", maxInstances: 1 });
    await ready(pool);
    seen.faults = 1;
    await manager.execute(PRINT);
    expect(await manager.execute(PRINT)).toMatchObject({ stdout: "1\n" });
    expect(pool.status()).toMatchObject({ failures: 1 });
    await manager.close();
    expect([left("ephemeral"), left("owners")]).toEqual([[], []]);
  });

  it("makes sessions to order where programs see the directory's own name", async () => {
    const { pool, manager } = open({ backend: "subprocess" });
    await ready(pool);
    expect(await manager.execute({ command: "pwd" })).toMatchObject({ success: true });
    await ready(pool);
    const sandbox = await manager.getSandbox("s");
    expect((await sandbox.exec(["pwd"])).stdout).toMatch(/\/sessions\/s-\w+\/workspace\n$/);
    expect(pool.status()).toMatchObject({ hits: 1, misses: 1 });
  });

  it("leaves nothing behind that the next start does not find when its process is killed", async () => {
    const skerry = JSON.stringify(import.meta.resolve("skerry"));
    const script =
      `const { PoolManager, SandboxManager } = await import(${skerry});\n` +
      `const pool = new PoolManager({ backend: "bubblewrap", minInstances: 3, maxInstances: 3, preload: ["python"] });\n` +
      `const manager = new SandboxManager({ pool, stateDir: ${JSON.stringify(stateDir)} });\n` +
      `await (await manager.getSandbox("kept")).files.write("kept", "1");\n` +
      "while (pool.status().idle < 2) await new Promise((resolve) => setTimeout(resolve, 20));\n" +
      `console.log("full"); setInterval(() => undefined, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    expect(left("ephemeral").length).toBe(2);
    child.kill("SIGKILL");
    await once(child, "exit");
    const { manager } = open({ minInstances: 0 });
    expect(await manager.reap()).toBeGreaterThanOrEqual(2);
    expect([left("ephemeral"), left("sessions").length, left("owners").length]).toEqual([[], 1, 1]);
    expect(await (await manager.getSandbox("kept")).files.readText("kept")).toBe("1");
  });

  it.each([
    [
      "a pool that is none",
      { pool: { minInstances: 1 } as unknown as PoolManager },
      "pool takes a PoolManager",
    ],
    [
      "one for another backend",
      { backend: "bubblewrap", pool: new PoolManager({ backend: "docker" }) },
      "The pool is for the backend docker, the manager for bubblewrap",
    ],
    ["an unknown language", { pool: new PoolManager({ preload: ["cobol"] }) }, 'Unknown language "cobol"'],
    [
      "interpreters ahead without warm ones",
      { warm: false, pool: new PoolManager({ preload: ["python"] }) },
      "A pool that starts interpreters ahead cannot be without warm ones",
    ],
    [
      "a limit below the least",
      { pool: new PoolManager({ limits: { memoryMb: 1 } }) },
      "limits.memoryMb must be at least 4, not 1",
    ],
  ])("refuses %s", (_, options, message) => {
    expect(() => new SandboxManager({ stateDir, ...options })).toThrow(message);
  });

  it("refuses a pool that another manager has", () => {
    const { pool } = open({ minInstances: 0 });
    expect(() => new SandboxManager({ stateDir, pool })).toThrow("This pool belongs to a manager already");
  });
});

import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, it } from "vitest";
import {
  left,
  open,
  PRINT,
  ready,
  seen,
  stateDir,
  usePools,
} from "../../../../test/setup/pooled-managers.js";
import { requires } from "../../../../test/setup/requires.js";
import { AuditLogger, type AuditRecord, createCallbackSink } from "../../../guard/audit/index.js";
import { parsePolicy } from "../../../guard/policy/index.js";
import { waitUntil } from "../../../kit/wait-until.js";
import { createBubblewrapBackend } from "../../../runtime/backends/bubblewrap/backend.js";
import { registerBackend } from "../../../runtime/backends/registry.js";
import { PoolManager } from "../../../runtime/pool/index.js";
import { parseConfig } from "../../config/index.js";
import { SandboxManager } from "../index.js";

/** Real bubblewrap where no interpreter is found. */
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

usePools();
const real = requires("root", "bubblewrap", "cgroups", "python3");

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

  it("never hands out one that died while it waited", async () => {
    const { pool, manager } = open();
    await ready(pool);
    const pid = Number(/^\/proc\/(\d+)\//.exec(seen.instances[0]?.hostWorkspace ?? "")?.[1]);
    process.kill(pid, "SIGKILL");
    // What is inside goes a moment later.
    await seen.instances[0]?.runner.closed;
    expect(await manager.execute(PRINT)).toMatchObject({ stdout: "1\n" });
    expect(pool.status().failures).toBe(1);
    await manager.close();
    expect([left("ephemeral"), left("owners")]).toEqual([[], []]);
  });

  it("frees the place of a sandbox that its user stops, and of one that dies", async () => {
    const { pool, manager } = open({ minInstances: 0, maxInstances: 1, acquireTimeoutMs: 60_000 });
    const first = await manager.startSandbox("once", { ephemeral: true });
    expect(first.sessionId).toBe("once");
    await first.stop();
    const second = await manager.startSandbox("s");
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

  it("refuses who waits when it closes, and leaves nothing", async () => {
    const { pool, manager } = open({ minInstances: 1, maxInstances: 1 });
    await manager.startSandbox("s");
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

  it("starts again after everything was cleaned up, and keeps within its maximum", async () => {
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
    await manager.startSandbox("s");
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

  it("leaves nothing behind that the next start does not find when its process is killed", async () => {
    const skerry = JSON.stringify(import.meta.resolve("skerry"));
    const script =
      `const { PoolManager, SandboxManager } = await import(${skerry});\n` +
      `const pool = new PoolManager({ backend: "bubblewrap", minInstances: 3, maxInstances: 3, preload: ["python"] });\n` +
      `const manager = new SandboxManager({ pool, stateDir: ${JSON.stringify(stateDir)} });\n` +
      `await (await manager.startSandbox("kept")).files.write("kept", "1");\n` +
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
    expect(await (await manager.startSandbox("kept")).files.readText("kept")).toBe("1");
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

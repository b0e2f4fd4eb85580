import { beforeEach, describe, expect } from "vitest";
import { startDocker } from "../../../test/setup/docker.js";
import { openManager } from "../../../test/setup/open-manager.js";
import { requires } from "../../../test/setup/requires.js";
import { openTcpForwarder } from "../../../test/setup/tcp-forwarder.js";
import { waitUntil } from "../../kit/wait-until.js";
import type { Limits } from "../../runtime/backends/backend.js";
import type { RunningSandbox } from "../../runtime/sandbox/index.js";
import { parseConfig } from "../config/index.js";
import type { SandboxManager } from "../manager/index.js";
import { createMetrics, type ResourceAlert, SandboxMonitor } from "./index.js";

interface Target extends ReturnType<typeof requires> {
  readonly title: string;
  readonly backend: string;
  /** Only the daemon's statistics tell. */
  readonly elsewhere?: boolean;
  /** Of 256 MB, what brings it above nine tenths. */
  readonly nearlyAllMb: number;
}

const BACKENDS: readonly Target[] = [
  {
    title: "bubblewrap",
    backend: "bubblewrap",
    nearlyAllMb: 228,
    ...requires("root", "bubblewrap", "cgroups", "python3"),
  },
  { title: "docker", backend: "docker", nearlyAllMb: 228, ...requires("docker") },
  { title: "docker elsewhere", backend: "docker", nearlyAllMb: 228, elsewhere: true, ...requires("docker") },
  { title: "gvisor", backend: "gvisor", nearlyAllMb: 216, ...requires("docker", "gvisor") },
];

let manager: SandboxManager;

/** Starts a program that prints when it has got to where it wants to be, and then stays until the sandbox stops. */
async function start(limits: Limits, code: string): Promise<RunningSandbox> {
  const sandbox = await manager.startSandbox("monitored", { limits });
  const execution = sandbox.runCode(code, { language: "python", timeoutMs: 120_000 });
  const events = execution[Symbol.asyncIterator]();
  for (let event = await events.next(); event.value?.type !== "stdout"; event = await events.next()) {
    if (event.done || event.value.type === "exit") throw new Error("The program ended before it was ready");
  }
  return sandbox;
}

async function watch(sandbox: RunningSandbox, until: ResourceAlert["resource"]) {
  const metrics = await createMetrics();
  const alerts: ResourceAlert[] = [];
  // A multiple of the kernel's period for CPU limits, so that every sample has the same share of it.
  const monitor = new SandboxMonitor({ metrics, intervalMs: 500, onAlert: (alert) => alerts.push(alert) });
  const stop = monitor.watch(sandbox);
  try {
    await waitUntil(() => alerts.some(({ resource }) => resource === until), 120_000);
    return { alerts, text: await metrics.text() };
  } finally {
    stop();
  }
}

for (const { title, backend, nearlyAllMb, elsewhere = false, it, missing } of BACKENDS) {
  const found = backend === "bubblewrap" || missing.length > 0 ? undefined : await startDocker();
  const gate = found !== undefined && elsewhere ? await openTcpForwarder(found.host) : found;
  const docker = gate === undefined ? {} : { host: gate.host };
  const config = await parseConfig({ sandbox: { backends: { docker } } });

  describe(title, () => {
    beforeEach(() => {
      manager = openManager({ config, backend, warm: false });
    });

    it("alerts for a program that uses all the CPU it may", async () => {
      // So little that a machine which is busy with other things has it to give.
      const sandbox = await start({ cpus: 0.1 }, "print('ready', flush=True)\nwhile True: pass");
      const { alerts, text } = await watch(sandbox, "cpu");
      expect(alerts).toMatchObject([{ sandboxId: sandbox.id, resource: "cpu", threshold: 80 }]);
      expect(alerts[0]?.sample).toMatchObject({ cpus: 0.1, alerts: ["cpu"] });
      expect(text).toContain('sandbox_resource_alerts_total{resource="cpu"} 1');
      expect(text).toMatch(new RegExp(`sandbox_cpu_usage_seconds\\{sandbox_id="${sandbox.id}"\\} [\\d.]+`));
    });

    it("alerts for a program that uses 95 % of its memory, and it lives on", async () => {
      const sandbox = await start(
        { memoryMb: 256 },
        `import time\nkept = bytearray(${nearlyAllMb} * 2**20)\nfor at in range(0, len(kept), 4096): kept[at] = 1\nprint('ready', flush=True)\ntime.sleep(600)`,
      );
      const { alerts, text } = await watch(sandbox, "memory");
      expect(alerts).toMatchObject([{ sandboxId: sandbox.id, resource: "memory", threshold: 90 }]);
      expect(alerts[0]?.sample).toMatchObject({ memoryLimitBytes: 256 * 2 ** 20, alerts: ["memory"] });
      expect(text).toContain('sandbox_resource_alerts_total{resource="memory"} 1');
      expect(sandbox.activeExecutions).toBe(1);
    });

    it("tells what a sandbox uses until it has stopped, and of one without network no bytes", async () => {
      const sandbox = await start(
        { memoryMb: 300, pids: 50 },
        "print('ready', flush=True)\nimport time; time.sleep(600)",
      );
      const usage = await sandbox.usage();
      expect(usage).toEqual({
        cpuTimeMs: expect.any(Number),
        memoryBytes: expect.any(Number),
        memoryLimitBytes: 300 * 2 ** 20,
        pids: expect.any(Number),
        pidsLimit: 50,
      });
      expect(usage!.memoryBytes).toBeGreaterThan(2 ** 20);
      expect(usage!.pids).toBeGreaterThan(1);
      await sandbox.stop();
      expect(await sandbox.usage()).toBeUndefined();
    });
  });
}

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { ResourceUsage } from "../../runtime/backends/backend.js";
import { createMetrics, type ResourceAlert, SandboxMonitor } from "./index.js";

const MB = 1024 * 1024;
const monitors: SandboxMonitor[] = [];

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance", "Date"] });
});

afterEach(() => {
  for (const monitor of monitors.splice(0)) monitor.close();
  vi.useRealTimers();
});

/** A sandbox of half a CPU and 100 MB that uses what the test says. */
function sandbox(id = "sbx-1") {
  const state = { cpuTimeMs: 0, memoryBytes: 10 * MB, asked: 0 };
  return {
    id,
    state,
    async usage(): Promise<ResourceUsage | undefined> {
      state.asked++;
      return {
        cpuTimeMs: state.cpuTimeMs,
        memoryBytes: state.memoryBytes,
        memoryLimitBytes: 100 * MB,
        cpus: 0.5,
      };
    },
  };
}

function createMonitor(options: ConstructorParameters<typeof SandboxMonitor>[0] = {}) {
  const monitor = new SandboxMonitor(options);
  monitors.push(monitor);
  const alerts: string[] = [];
  monitor.on("alert", ({ sandboxId, resource, percent }) =>
    alerts.push(`${sandboxId} ${resource} ${Math.round(percent)}`),
  );
  return { monitor, alerts };
}

/** Lets an interval pass in which the sandbox uses so many percent of its CPU. */
async function pass(watched: ReturnType<typeof sandbox>, cpuPercent: number, memoryMb = 10): Promise<void> {
  watched.state.cpuTimeMs += (2000 * 0.5 * cpuPercent) / 100;
  watched.state.memoryBytes = memoryMb * MB;
  await vi.advanceTimersByTimeAsync(2000);
}

it("samples at the interval, in percent of what the sandbox may use", async () => {
  const { monitor } = createMonitor();
  const watched = sandbox();
  monitor.watch(watched);
  expect(monitor.snapshot()).toEqual([]);
  await pass(watched, 50);
  expect(monitor.snapshot()).toEqual([
    {
      sandboxId: "sbx-1",
      at: expect.any(Date),
      cpuTimeMs: 500,
      memoryBytes: 10 * MB,
      memoryLimitBytes: 100 * MB,
      cpus: 0.5,
      memoryPercent: 10,
      alerts: [],
    },
  ]);
  await pass(watched, 40, 20);
  expect(monitor.snapshot()).toMatchObject([{ cpuPercent: 40, memoryPercent: 20 }]);
});

it("alerts for CPU that stays above 80 %, once until it has calmed down", async () => {
  const { monitor, alerts } = createMonitor();
  const watched = sandbox();
  monitor.watch(watched);
  for (const percent of [0, 95, 95, 30, 95, 95]) await pass(watched, percent);
  expect(alerts).toEqual([]);
  for (const percent of [95, 96, 97, 78, 95, 95, 95]) await pass(watched, percent);
  expect(alerts).toEqual(["sbx-1 cpu 95"]);
  expect(monitor.snapshot()[0]?.alerts).toEqual(["cpu"]);
  for (const percent of [20, 99, 99, 99]) await pass(watched, percent);
  expect(alerts).toEqual(["sbx-1 cpu 95", "sbx-1 cpu 99"]);
});

it("alerts for memory above 90 % at once, to listeners, the hook and the metrics", async () => {
  const metrics = await createMetrics();
  const told: ResourceAlert[] = [];
  const { monitor, alerts } = createMonitor({ metrics, onAlert: (alert) => told.push(alert) });
  const watched = sandbox();
  monitor.watch(watched);
  for (const memoryMb of [90, 91, 85, 95]) await pass(watched, 0, memoryMb);
  expect(alerts).toEqual(["sbx-1 memory 91"]);
  expect(told).toMatchObject([{ resource: "memory", percent: 91, threshold: 90, sandboxId: "sbx-1" }]);
  for (const memoryMb of [79, 92]) await pass(watched, 0, memoryMb);
  const text = await metrics.text();
  expect(text).toContain('sandbox_resource_alerts_total{resource="memory"} 2');
  expect(text).toContain(`sandbox_memory_usage_bytes{sandbox_id="sbx-1"} ${92 * MB}`);
});

it("takes other thresholds, and refuses ones that make no sense", async () => {
  const { monitor, alerts } = createMonitor({
    thresholds: { cpuPercent: 10, cpuSamples: 1, memoryPercent: 50 },
  });
  const watched = sandbox();
  monitor.watch(watched);
  for (const percent of [0, 12]) await pass(watched, percent, 51);
  expect(alerts).toEqual(["sbx-1 memory 51", "sbx-1 cpu 12"]);
  for (const options of [
    { intervalMs: 0 },
    { thresholds: { cpuPercent: Number.NaN } },
    { intervalMs: 2 ** 31 },
  ]) {
    expect(() => new SandboxMonitor(options)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
  }
});

it("samples nothing once nothing is watched, and removes the series", async () => {
  const metrics = await createMetrics();
  const { monitor } = createMonitor({ metrics });
  const watched = sandbox();
  const stop = monitor.watch(watched);
  await pass(watched, 0);
  expect(await metrics.text()).toContain('sandbox_id="sbx-1"');
  stop();
  stop();
  await pass(watched, 0);
  expect(watched.state.asked).toBe(1);
  expect(vi.getTimerCount()).toBe(0);
  expect(await metrics.text()).not.toContain('sandbox_id="sbx-1"');
  expect(monitor.snapshot()).toEqual([]);
  expect(await monitor.sample("sbx-1")).toBeUndefined();
});

it("leaves no series of a sandbox that ends while it is looked at", async () => {
  const metrics = await createMetrics();
  const { monitor } = createMonitor({ metrics });
  const watched = sandbox();
  const stop = monitor.watch(watched);
  const sampled = monitor.sample("sbx-1");
  stop();
  expect(await sampled).toBeUndefined();
  expect(await metrics.text()).not.toContain("sbx-1");
});

it("lets a new sandbox of the same name be stopped only by its own watcher", async () => {
  const { monitor } = createMonitor();
  const [first, second] = [sandbox(), sandbox()];
  const stopFirst = monitor.watch(first);
  monitor.watch(second);
  stopFirst();
  await pass(second, 0);
  expect([first.state.asked, second.state.asked]).toEqual([0, 1]);
});

it("goes on when one backend fails, hangs or says nonsense", async () => {
  const { monitor, alerts } = createMonitor();
  let hanging = 0;
  monitor.watch({ id: "throws", usage: () => Promise.reject(new Error("gone")) });
  monitor.watch({ id: "throws-now", usage: () => fail() });
  monitor.watch({
    id: "hangs",
    usage: () => {
      hanging++;
      return new Promise(() => undefined);
    },
  });
  monitor.watch({ id: "lies", usage: async () => ({ cpuTimeMs: Number.NaN, memoryBytes: -1 }) });
  monitor.watch({
    id: "unlimited",
    usage: async () => ({ cpuTimeMs: 0, memoryBytes: 5, memoryLimitBytes: 0, cpus: 0 }),
  });
  const watched = sandbox();
  monitor.watch(watched);
  for (let round = 0; round < 3; round++) await pass(watched, 10, 95);
  expect(alerts).toEqual(["sbx-1 memory 95"]);
  expect(monitor.snapshot().map(({ sandboxId }) => sandboxId)).toEqual(["unlimited", "sbx-1"]);
  expect(hanging).toBe(1);
});

function fail(): never {
  throw new Error("gone");
}

it("goes on when a listener for alerts fails", async () => {
  const warnings: string[] = [];
  const warn = vi
    .spyOn(process, "emitWarning")
    .mockImplementation((text) => void warnings.push(String(text)));
  try {
    const { monitor, alerts } = createMonitor({ onAlert: () => Promise.reject(new Error("disk full")) });
    monitor.prependListener("sample", fail);
    const watched = sandbox();
    monitor.watch(watched);
    await pass(watched, 0, 95);
    expect(alerts).toEqual(["sbx-1 memory 95"]);
    expect(warnings).toEqual([
      "A listener of the sandbox monitor failed: Error: gone",
      "A listener of the sandbox monitor failed: Error: disk full",
    ]);
  } finally {
    warn.mockRestore();
  }
});

it("does not take two looks within a moment for a percentage or for a second sample", async () => {
  const { monitor } = createMonitor({ thresholds: { cpuSamples: 2 } });
  const watched = sandbox();
  monitor.watch(watched);
  for (const percent of [0, 100]) await pass(watched, percent);
  watched.state.cpuTimeMs += 10;
  await vi.advanceTimersByTimeAsync(10);
  expect(await monitor.sample("sbx-1")).toMatchObject({ cpuPercent: 100, alerts: [] });
  const [first, second] = await Promise.all([monitor.sample("sbx-1"), monitor.sample("sbx-1")]);
  expect(first).toBe(second);
});

it("keeps no process alive", () => {
  vi.useRealTimers();
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  const { monitor } = createMonitor({ intervalMs: 3_600_000 });
  monitor.watch(sandbox());
  expect(timers()).toBe(before);
});

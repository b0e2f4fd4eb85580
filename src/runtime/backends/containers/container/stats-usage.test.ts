import { expect, it } from "vitest";
import { statsUsage } from "./stats-usage.js";

const MB = 1024 * 1024;

it.each([
  ["version 1", { cache: 60 * MB, total_inactive_file: 30 * MB, total_active_file: 20 * MB }],
  ["version 2", { file: 60 * MB, inactive_file: 30 * MB, active_file: 20 * MB }],
])("leaves out what the kernel would give back, as groups of %s name it", (_, stats) => {
  expect(
    statsUsage({
      cpu_stats: { cpu_usage: { total_usage: 1_500_000_000 } },
      memory_stats: { usage: 150 * MB, stats },
      pids_stats: { current: 3 },
    }),
  ).toEqual({ cpuTimeMs: 1500, memoryBytes: 100 * MB, pids: 3 });
});

it("tells what there is of a daemon that does not count processes", () => {
  const stats = { cpu_stats: { cpu_usage: { total_usage: 0 } }, memory_stats: { usage: MB }, pids_stats: {} };
  expect(statsUsage(stats)).toEqual({ cpuTimeMs: 0, memoryBytes: MB });
});

it("tells nothing of a container that has ended", () => {
  // As the daemon answers for one.
  const stats = { cpu_stats: { cpu_usage: { total_usage: 0 } }, memory_stats: {}, pids_stats: {} };
  expect([statsUsage(stats), statsUsage({})]).toEqual([undefined, undefined]);
});

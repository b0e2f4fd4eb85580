import { expect, it } from "vitest";
import type { Benchmark } from "./benchmark.js";
import { createResult, createSkip, formatTable } from "./report.js";

const entry: Benchmark = {
  name: "sample",
  what: "something",
  baseline: "something bare",
  unit: "ms",
  better: "lower",
  goal: 2,
  measure: async () => ({ ours: [], baseline: [] }),
};

it("says whether the ratio of the medians reaches the goal", () => {
  expect(createResult(entry, { ours: [3, 4, 5], baseline: [2, 2, 2] })).toEqual({
    name: "sample",
    what: "something",
    ours: { p50: 4, p99: 5, n: 3, unit: "ms" },
    baseline: { what: "something bare", p50: 2, p99: 2, n: 3 },
    ratio: 2,
    goal: 2,
    better: "lower",
    ok: true,
  });
  expect(createResult(entry, { ours: [5], baseline: [2] }).ok).toBe(false);
  expect(createResult({ ...entry, better: "higher" }, { ours: [5], baseline: [2] }).ok).toBe(true);
  expect(createResult({ ...entry, better: "higher" }, { ours: [3], baseline: [2] }).ok).toBe(false);
  const told = createResult({ ...entry, goal: null }, { ours: [9], baseline: [2] });
  expect([told.ok, formatTable([told])]).toEqual([true, expect.stringContaining("4.5     -")]);
});

it("misses the goal when a check fails, whatever the ratio", () => {
  const check = { what: "memory", value: 65, unit: "MiB", atMost: 64 };
  const result = createResult(entry, { ours: [1], baseline: [2], checks: [check] });
  expect(result.ok).toBe(false);
  expect(result.checks).toEqual([{ ...check, ok: false }]);
});

it("is neither reached nor missed when it was skipped, and missed when it failed", () => {
  expect(createSkip(entry, { skipped: "no pandas" })).toMatchObject({
    ok: null,
    ratio: null,
    skipped: "no pandas",
  });
  expect(createSkip(entry, { error: "broken" })).toMatchObject({ ok: false, error: "broken" });
});

it("prints a table with the conditions and reasons below each figure", () => {
  const check = { what: "memory", value: 65, unit: "MiB", atMost: 64 };
  const table = formatTable([
    createResult(entry, { ours: [3], baseline: [2], checks: [check] }),
    createSkip(entry, { skipped: "no pandas" }),
  ]);
  expect(table.split("\n").map((line) => line.replaceAll(/ {2,}/g, " | "))).toEqual([
    "name | ours p50 | p99 | n | baseline p50 | p99 | n | ratio | goal",
    "sample | 3 ms | 3 ms | 1 | 2 ms | 2 ms | 1 | 1.5 | ≤ 2 | MISSED",
    " | memory: 65 MiB (≤ 64) MISSED",
    "sample | - | - | - | - | - | - | - | ≤ 2 | skipped",
    " | skipped: no pandas",
  ]);
});

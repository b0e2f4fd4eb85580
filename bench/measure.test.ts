import { expect, it } from "vitest";
import { interleave, median, percentile, summarize } from "./measure.js";

const hundred = Array.from({ length: 100 }, (_, index) => index + 1);

it("takes percentiles by nearest rank, in any order of samples", () => {
  expect(percentile([3, 1, 2], 0.5)).toBe(2);
  expect(percentile(hundred.toReversed(), 0.99)).toBe(99);
  expect(percentile([7], 0.99)).toBe(7);
  expect(median([4, 1, 3, 2])).toBe(2);
  expect(percentile([], 0.5)).toBeNaN();
});

it("gives the bad end as p99, whichever way is good", () => {
  expect(summarize(hundred, "lower")).toEqual({ p50: 50, p99: 99, n: 100 });
  expect(summarize(hundred, "higher")).toEqual({ p50: 50, p99: 2, n: 100 });
});

it("alternates the sides, turns the order every round, and drops the warm-up", async () => {
  const order: string[] = [];
  const take = (side: string) => async () => order.push(side);
  const bench = { signal: new AbortController().signal, progress: () => undefined };
  const samples = await interleave(bench, { rounds: 2, warmUp: 1 }, take("ours"), take("baseline"));
  expect(order).toEqual(["baseline", "ours", "ours", "baseline", "baseline", "ours"]);
  expect(samples).toEqual({ ours: [3, 6], baseline: [4, 5] });
});

it("stops between two samples when it is interrupted", async () => {
  const interruption = new AbortController();
  const bench = { signal: interruption.signal, progress: () => undefined };
  let taken = 0;
  const take = async () => {
    interruption.abort(new Error("interrupted"));
    return ++taken;
  };
  await expect(interleave(bench, { rounds: 5, warmUp: 0 }, take, take)).rejects.toThrow("interrupted");
  expect(taken).toBe(1);
});

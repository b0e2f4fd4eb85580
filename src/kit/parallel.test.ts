import { expect, it } from "vitest";
import { forEachParallel } from "./parallel.js";

it("runs every item, at most eight at a time", async () => {
  let running = 0;
  let most = 0;
  const done: number[] = [];
  const items = Array.from({ length: 30 }, (_, index) => index);
  await forEachParallel(items, async (item) => {
    most = Math.max(most, ++running);
    await new Promise((resolve) => setImmediate(resolve));
    running--;
    done.push(item);
  });
  expect(done.sort((a, b) => a - b)).toEqual(items);
  expect(most).toBe(8);
});

it("starts none after a failure, and throws the first when all have ended", async () => {
  const started: number[] = [];
  const items = Array.from({ length: 30 }, (_, index) => index);
  const all = forEachParallel(items, async (item) => {
    started.push(item);
    await new Promise((resolve) => setImmediate(resolve));
    throw new Error(`item ${item}`);
  });
  await expect(all).rejects.toThrow("item 0");
  expect(started).toEqual(items.slice(0, 8));
});

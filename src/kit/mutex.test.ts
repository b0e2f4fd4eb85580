import { expect, it } from "vitest";
import { createDeferred } from "./deferred.js";
import { KeyedMutex } from "./keyed-mutex.js";
import { Mutex } from "./mutex.js";

it("runs actions one after the other, past failures", async () => {
  const mutex = new Mutex();
  const order: string[] = [];
  const gate = createDeferred<void>();
  const first = mutex.run(async () => {
    await gate.promise;
    order.push("first");
    throw new Error("no");
  });
  const second = mutex.run(async () => order.push("second"));
  expect(mutex.isBusy).toBe(true);
  gate.resolve();
  await expect(first).rejects.toThrow("no");
  await second;
  expect(order).toEqual(["first", "second"]);
  expect(mutex.isBusy).toBe(false);
});

it("never starts an action whose signal aborted while it waited", async () => {
  const mutex = new Mutex();
  const gate = createDeferred<void>();
  const first = mutex.run(() => gate.promise);
  const abort = new AbortController();
  let hasStarted = false;
  const second = mutex.run(async () => {
    hasStarted = true;
  }, abort.signal);
  abort.abort();
  gate.resolve();
  await first;
  await expect(second).rejects.toThrow(expect.objectContaining({ code: "CANCELLED" }));
  expect(hasStarted).toBe(false);
});

it("keeps the order when a turn between two others is given up", async () => {
  const mutex = new Mutex();
  const order: string[] = [];
  const gate = createDeferred<void>();
  const first = mutex.run(async () => {
    await gate.promise;
    order.push("first");
  });
  const between = mutex.enqueue();
  const last = mutex.run(async () => order.push("last"));
  between.giveUp();
  gate.resolve();
  await Promise.all([first, last]);
  expect(order).toEqual(["first", "last"]);
});

it("of several keys: runs those of one key in order, past failures, and lets other keys pass", async () => {
  const mutex = new KeyedMutex();
  const order: string[] = [];
  const gate = createDeferred<void>();
  const first = mutex.run("a", async () => {
    await gate.promise;
    order.push("first");
    throw new Error("no");
  });
  const second = mutex.run("a", async () => order.push("second"));
  await mutex.run("b", async () => order.push("other"));
  gate.resolve();
  await expect(first).rejects.toThrow("no");
  await second;
  expect(order).toEqual(["other", "first", "second"]);
});

import { expect, it } from "vitest";
import { abortable } from "./abortable.js";
import { createDeferred } from "./deferred.js";
import { withTimeout } from "./timeout.js";

const late = () => new Error("late");

it("gives what comes in time, also a failure", async () => {
  expect(await withTimeout(Promise.resolve(1), 10_000, late)).toBe(1);
  await expect(withTimeout(Promise.reject(new Error("no")), 10_000, late)).rejects.toThrow("no");
});

it("fails after the time, and ignores a failure that comes later", async () => {
  const work = createDeferred<void>();
  await expect(withTimeout(work.promise, 1, late)).rejects.toThrow("late");
  work.reject(new Error("too late"));
});

it("stops waiting when the signal aborts, before or after the beginning", async () => {
  const cancelled = expect.objectContaining({ code: "CANCELLED" });
  const never = new Promise<void>(() => undefined);
  await expect(abortable(never, AbortSignal.abort())).rejects.toThrow(cancelled);
  const abort = new AbortController();
  const waiting = abortable(never, abort.signal);
  abort.abort();
  await expect(waiting).rejects.toThrow(cancelled);
  expect(await abortable(Promise.resolve(1), new AbortController().signal)).toBe(1);
});

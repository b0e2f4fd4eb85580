import { expect, it } from "vitest";
import { exhausted } from "./pool-errors.js";
import type { PoolStatus } from "./pool-lease.js";
import { PoolManager } from "./pool-manager.js";

it("refuses an option that it does not have, and says which one is like it", () => {
  const options = { minInstance: 2 } as object;
  expect(() => new PoolManager(options)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", hint: "Did you mean minInstances?" }),
  );
});

it("says what each sandbox is at when none is free", () => {
  const status = { busy: 0, acquiring: 1, resetting: 1, leaving: 0, maxInstances: 2 } as PoolStatus;
  expect(exhausted(5000, status).toJSON()).toEqual({
    code: "POOL_EXHAUSTED",
    message: "No sandbox was free within 5 s: of 2, 0 in use, 1 being started, 1 being reset",
    hint: "Raise maxInstances or acquireTimeoutMs of the pool.",
  });
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { passAtK } from "./pass-at-k.js";

/** (n over k), where it is small enough to be exact. */
function choose(n: number, k: number): number {
  let result = 1;
  for (let i = 1; i <= k; i++) result = (result * (n - k + i)) / i;
  return result;
}

it.each([
  [[{ total: 1, passed: 1 }], 1, 1],
  [[{ total: 1, passed: 0 }], 1, 0],
  [[{ total: 2, passed: 1 }], 1, 0.5],
  [[{ total: 2, passed: 1 }], 2, 1],
  [[{ total: 5, passed: 2 }], 2, 0.7],
  [
    [
      { total: 1, passed: 1 },
      { total: 1, passed: 0 },
    ],
    1,
    0.5,
  ],
])("of %j, pass@%i is %d", (counts, k, expected) => {
  expect(passAtK(counts, k)).toBeCloseTo(expected, 10);
});

it("is not told where a task has too few samples, or where there is none", () => {
  expect(passAtK([{ total: 3, passed: 3 }], 10)).toBeUndefined();
  expect(passAtK([], 1)).toBeUndefined();
});

it("is one less the chance that k of the samples all fail", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 25 }),
      fc.nat(25),
      fc.integer({ min: 1, max: 25 }),
      (total, some, k) => {
        fc.pre(k <= total);
        const passed = Math.min(some, total);
        const expected = 1 - choose(total - passed, k) / choose(total, k);
        expect(passAtK([{ total, passed }], k)).toBeCloseTo(passed > total - k ? 1 : expected, 9);
      },
    ),
  );
});

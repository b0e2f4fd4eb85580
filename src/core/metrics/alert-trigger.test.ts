import fc from "fast-check";
import { expect, it } from "vitest";
import { AlertTrigger } from "./alert-trigger.js";

const settings = { threshold: 80, samples: 3, margin: 10 };

it.each([
  ["after three values in a row", [81, 82, 83, 84], [2]],
  ["not at the threshold itself", [80, 80, 80, 80], []],
  ["not when one in between is lower", [90, 90, 10, 90, 90], []],
  ["once while the value wavers around the threshold", [90, 90, 90, 75, 90, 90, 90, 71, 90, 90, 90], [2]],
  ["again after it has fallen below the margin", [90, 90, 90, 70, 90, 90, 90], [2, 6]],
  ["not sooner than three values after it was over", [90, 90, 90, 0, 90, 90], [2]],
])("alerts %s", (_, values, expected) => {
  const trigger = new AlertTrigger(settings);
  expect(values.flatMap((value, index) => (trigger.add(value) ? index : []))).toEqual(expected);
});

it("is active exactly from an alert until the value has fallen below the margin", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 120 })), (values) => {
      const trigger = new AlertTrigger(settings);
      for (const value of values) {
        const wasActive = trigger.isActive;
        const began = trigger.add(value);
        expect(trigger.isActive).toBe(wasActive ? value > 70 : began);
        if (began) expect([wasActive, value > 80]).toEqual([false, true]);
      }
    }),
  );
});

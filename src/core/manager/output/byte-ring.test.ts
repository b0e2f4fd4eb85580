import fc from "fast-check";
import { expect, it } from "vitest";
import { ByteRing } from "./byte-ring.js";

const steps = fc.array(
  fc.oneof(
    fc.record({ append: fc.uint8Array({ maxLength: 40 }) }),
    fc.record({ resize: fc.integer({ min: 0, max: 50 }) }),
    fc.record({ dropTo: fc.integer({ min: 0, max: 200 }) }),
  ),
  { maxLength: 40 },
);

it("a ring keeps the last bytes in their places, whatever is appended, dropped or resized", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 20 }), steps, (capacity, given) => {
      const ring = new ByteRing(capacity);
      let all: number[] = [];
      let start = 0;
      let most = capacity;
      for (const step of given) {
        if ("append" in step) {
          ring.append(step.append);
          all = [...all, ...step.append];
        } else if ("resize" in step) {
          ring.resize(step.resize);
          most = step.resize;
        } else {
          ring.dropTo(step.dropTo);
          start = Math.max(start, Math.min(step.dropTo, all.length));
        }
        start = Math.max(start, all.length - most);
        expect([ring.start, ring.end, ring.capacity]).toEqual([start, all.length, most]);
        expect([...ring.read(0, Number.POSITIVE_INFINITY)]).toEqual(all.slice(start));
        expect([...ring.read(start + 2, 3)]).toEqual(all.slice(start + 2, start + 5));
      }
    }),
  );
});

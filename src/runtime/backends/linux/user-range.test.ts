import { expect, it } from "vitest";
import { DEFAULT_USER_RANGE, findUserRange } from "./user-range.js";

const WHOLE = "         0          0 4294967295\n";

it.each([
  ["all of them exist", WHOLE, WHOLE, DEFAULT_USER_RANGE],
  ["a rootless daemon's", "0 100000 65536", "0 100000 65536", { start: 37_767, count: 27_767 }],
  [
    "rootless Podman's",
    "0 1000 1\n1 100000 65536",
    "0 1000 1\n1 100000 65536",
    { start: 37_767, count: 27_767 },
  ],
  ["fewer groups than users", "0 100000 65536", "0 100000 20000", { start: 15_000, count: 5000 }],
  ["one user", "0 1000 1", "0 1000 1", undefined],
  ["nothing mapped yet", "", "", undefined],
])("takes users that exist: %s", (_, users, groups, expected) => {
  expect(findUserRange(DEFAULT_USER_RANGE, [users, groups])).toEqual(expected);
});

it("takes no other users than those that were asked for", () => {
  const asked = { start: 70_000, count: 100 };
  expect(findUserRange(asked, [WHOLE, WHOLE])).toEqual(asked);
  const rootless = "0 100000 65536";
  expect(findUserRange(asked, [rootless, rootless])).toBeUndefined();
});

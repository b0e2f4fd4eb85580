import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { VISIBLE } from "../../../../test/attacks/proc-entries.js";
import { HIDDEN_PROC } from "./hidden-proc.js";

it("is the list that cells and gVisor have, and has nothing that stays visible", () => {
  const header = readFileSync("guest/src/hidden-proc.h", "utf8");
  expect(header.match(/"[^"]+"/g)).toEqual(HIDDEN_PROC.map((path) => `"${path}"`));
  expect(HIDDEN_PROC.filter((path) => Object.hasOwn(VISIBLE, path.slice("/proc/".length)))).toEqual([]);
});

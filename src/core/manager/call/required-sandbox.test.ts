import { expect, it } from "vitest";
import { assess } from "../../../guard/analysis/risk/assess.js";
import { RISK_LEVELS } from "../../../guard/analysis/rules/levels.js";
import { ISOLATION_ORDER, isAtLeast } from "../../../runtime/backends/isolation.js";
import { getRequiredSandbox, type SecurityMode } from "./required-sandbox.js";

it.each([
  ["permissive", ["none", "none", "process", "process", "process"]],
  ["strict", ["process", "process", "process", "process", "process"]],
] as const)("in mode %s each level asks for its isolation", (mode, expected) => {
  expect(RISK_LEVELS.map((level) => getRequiredSandbox(level, mode))).toEqual(expected);
});

it("takes a whole assessment for its level", async () => {
  expect(getRequiredSandbox(await assess("import os", "python"), "strict")).toBe("process");
  expect(getRequiredSandbox(await assess("import os", "python"), "permissive")).toBe("none");
  expect(getRequiredSandbox(await assess("print(1)", "python"), "strict")).toBe("process");
});

it("orders isolation from none to a virtual machine", () => {
  const stronger = ISOLATION_ORDER.map((a) => ISOLATION_ORDER.filter((b) => isAtLeast(a, b)).length);
  expect(stronger).toEqual([1, 2, 3, 4, 5]);
});

it("refuses words that are not in its tables", () => {
  const invalid = expect.objectContaining({ code: "INVALID_ARGUMENT" });
  expect(() => getRequiredSandbox("safe", "lenient" as SecurityMode)).toThrow(invalid);
  expect(() => getRequiredSandbox("constructor" as "safe", "strict")).toThrow(invalid);
  expect(() => isAtLeast("kernel", "wall" as "vm")).toThrow(invalid);
});

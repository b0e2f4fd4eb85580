import { expect, it } from "vitest";
import { hasCapability, isInitialUserNamespace, missingForSandboxes } from "./own-rights.js";

it("knows what root of a container may not do", () => {
  const docker = "Name:\tnode\nCapPrm:\t00000000a80425fb\nCapEff:\t00000000a80425fb\n";
  const names = ["CHOWN", "SETGID", "SETUID", "SYS_PTRACE", "SYS_ADMIN"] as const;
  expect(names.filter((name) => hasCapability(name, docker))).toEqual(["CHOWN", "SETGID", "SETUID"]);
  expect(names.filter((name) => hasCapability(name, "CapEff:\t000001ffffffffff\n"))).toEqual([...names]);
  expect(names.filter((name) => hasCapability(name, ""))).toEqual([]);
  expect(missingForSandboxes(docker)).toEqual([]);
  expect(missingForSandboxes("CapEff:\t00000000000000c1\n")).toEqual([
    "CAP_DAC_OVERRIDE",
    "CAP_FOWNER",
    "CAP_KILL",
  ]);
});

it.each([
  ["         0          0 4294967295\n", true],
  ["         0     100000      65536\n", false],
  ["      1000       1000          1\n", false],
])("knows whether its root is the machine's: %j", (map, expected) => {
  expect(isInitialUserNamespace(map)).toBe(expected);
});

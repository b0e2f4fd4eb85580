import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { testSeed } from "./test-seed.js";

const { testPath } = expect.getState();
if (testPath !== undefined && readFileSync(testPath, "utf8").includes("fast-check")) {
  const { default: fc } = await import("fast-check");
  fc.configureGlobal({ seed: testSeed });
}

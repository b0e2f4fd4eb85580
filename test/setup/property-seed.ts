import { readFileSync } from "node:fs";
import { expect } from "vitest";

/** Property tests look at other values in every run. In CI, what lands must not depend on luck: always the same ones. */
const { testPath } = expect.getState();
if (process.env["CI"] && testPath !== undefined && readFileSync(testPath, "utf8").includes("fast-check")) {
  const { default: fc } = await import("fast-check");
  fc.configureGlobal({ seed: 20_261_116 });
}

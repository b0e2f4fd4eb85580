import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compileSeccomp } from "./compile.js";
import { filterPath, loadSeccompFilter } from "./filter.js";
import { PROFILE } from "./profile.js";

describe("the filter of the build", () => {
  it.each(["x64", "arm64"] as const)("is the profile, compiled for %s", (arch) => {
    expect(readFileSync(filterPath(arch)).equals(compileSeccomp(PROFILE, arch))).toBe(true);
  });

  it("is the one sandboxes get", async () => {
    expect((await loadSeccompFilter()).equals(compileSeccomp(PROFILE, process.arch as "x64" | "arm64"))).toBe(
      true,
    );
  });
});

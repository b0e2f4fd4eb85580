import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { compileSeccomp } from "./compile.js";
import { filterPath, loadSeccompFilter } from "./filter.js";
import { PROFILES, type ProfileName } from "./profiles.js";

const NAMES = Object.keys(PROFILES) as ProfileName[];

describe("the filters of the build", () => {
  it.each(NAMES.flatMap((name) => (["x64", "arm64"] as const).map((arch) => [name, arch] as const)))(
    "has the profile %s, compiled for %s",
    (name, arch) => {
      expect(readFileSync(filterPath(arch, name)).equals(compileSeccomp(PROFILES[name], arch))).toBe(true);
    },
  );

  it("are the ones sandboxes get", async () => {
    const arch = process.arch as "x64" | "arm64";
    for (const name of NAMES) {
      expect((await loadSeccompFilter(arch, name)).equals(compileSeccomp(PROFILES[name], arch))).toBe(true);
    }
    expect((await loadSeccompFilter()).equals(compileSeccomp(PROFILES.sandbox, arch))).toBe(true);
  });
});

import { describe, it } from "vitest";
import { loadConformanceSuite } from "./conformance.js";
import { withoutSharedWorkspace } from "./without-shared-workspace.js";

/** The built one: a plain Node process loads it. */
const BUILT = new URL("./without-shared-workspace.js", import.meta.resolve("skerry/testing"));

for (const name of ["bubblewrap", "subprocess"]) {
  const suite = await loadConformanceSuite({
    name: `${name}-over-wire`,
    factory: withoutSharedWorkspace(name),
    module: `${BUILT}?backend=${name}`,
  });
  describe(`backend ${name} without a shared directory`, () => {
    for (const { title, skip, run } of suite) {
      it(
        skip === undefined ? title : `${title} (skipped: ${skip})`,
        { skip: skip !== undefined, timeout: 60_000 },
        run,
      );
    }
  });
}

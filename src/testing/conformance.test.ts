import { describe, it } from "vitest";
import { loadConformanceSuite } from "./conformance.js";

for (const name of ["bubblewrap", "subprocess"]) {
  const suite = await loadConformanceSuite({ name });
  describe(`backend ${name}`, () => {
    for (const { title, skip, run } of suite) {
      it(
        skip === undefined ? title : `${title} (skipped: ${skip})`,
        { skip: skip !== undefined, timeout: 60_000 },
        run,
      );
    }
  });
}

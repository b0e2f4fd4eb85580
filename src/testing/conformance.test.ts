import { describe } from "vitest";
import { requires } from "../../test/setup/requires.js";
import { loadConformanceSuite } from "./conformance.js";

const BACKENDS = {
  bubblewrap: requires("bubblewrap"),
  srt: requires("bubblewrap", "sandbox-runtime"),
  subprocess: requires(),
};

for (const [name, { it }] of Object.entries(BACKENDS)) {
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

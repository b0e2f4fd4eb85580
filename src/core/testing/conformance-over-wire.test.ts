import { describeConformance } from "../../../test/setup/conformance-cases.js";
import { withoutSharedWorkspace } from "./without-shared-workspace.js";

/** The built one: a plain Node process loads it. */
const BUILT = new URL("./without-shared-workspace.js", import.meta.resolve("skerry/testing"));

for (const name of ["bubblewrap", "subprocess"])
  await describeConformance(`${name} without a shared directory`, {
    name: `${name}-over-wire`,
    factory: withoutSharedWorkspace(name),
    module: `${BUILT}?backend=${name}`,
  });

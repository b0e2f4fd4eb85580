import { describeConformance } from "../../../test/setup/conformance-cases.js";
import { requires } from "../../../test/setup/requires.js";

const BACKENDS = {
  bubblewrap: requires("bubblewrap"),
  srt: requires("bubblewrap", "sandbox-runtime"),
  subprocess: requires(),
};

for (const [name, { it }] of Object.entries(BACKENDS)) await describeConformance(name, { name }, { it });

import { BY_DISTANCE, containerTarget, describeConformance } from "../../../test/setup/conformance-cases.js";
import { startDocker } from "../../../test/setup/docker.js";
import { requires } from "../../../test/setup/requires.js";

const { it, missing } = requires("docker", "gvisor");
const host = missing.length === 0 ? (await startDocker()).host : undefined;

await describeConformance("gvisor", await containerTarget({ name: "gvisor", host }), { it });
await describeConformance(
  "gvisor elsewhere",
  await containerTarget({ name: "gvisor", host, isElsewhere: true }),
  { it, only: BY_DISTANCE },
);

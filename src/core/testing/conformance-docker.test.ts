import { containerTarget, describeConformance } from "../../../test/setup/conformance-cases.js";
import { startDocker } from "../../../test/setup/docker.js";
import { requires } from "../../../test/setup/requires.js";

const { it, missing } = requires("docker");
const host = missing.length === 0 ? (await startDocker()).host : undefined;

await describeConformance("docker", await containerTarget({ name: "docker", host }), { it });
await describeConformance(
  "docker elsewhere",
  await containerTarget({ name: "docker", host, isElsewhere: true }),
  { it },
);

import { BY_DISTANCE, containerTarget, describeConformance } from "../../../test/setup/conformance-cases.js";
import { startPodman } from "../../../test/setup/docker.js";
import { requires } from "../../../test/setup/requires.js";

const { it, missing } = requires("docker", "podman");
const host = missing.length === 0 ? (await startPodman()).host : undefined;

for (const shareFiles of ["always", "never"] as const) {
  const title = `docker with Podman's service, shareFiles ${shareFiles}`;
  const only = shareFiles === "never" ? BY_DISTANCE : undefined;
  await describeConformance(title, await containerTarget({ name: "docker", host, shareFiles }), { it, only });
}

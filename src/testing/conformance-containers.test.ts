import { describe } from "vitest";
import { startDocker } from "../../test/setup/docker.js";
import { requires } from "../../test/setup/requires.js";
import { parseConfig } from "../config/index.js";
import { loadConformanceSuite } from "./conformance.js";

const BACKENDS = [
  { title: "docker", name: "docker", shareFiles: "always", ...requires("docker") },
  { title: "docker over the wire", name: "docker", shareFiles: "never", ...requires("docker") },
  { title: "gvisor", name: "gvisor", shareFiles: "always", ...requires("docker", "gvisor") },
];

for (const { title, name, shareFiles, it, missing } of BACKENDS) {
  const docker = missing.length === 0 ? { host: (await startDocker()).host, shareFiles } : { shareFiles };
  const suite = await loadConformanceSuite({
    name,
    config: await parseConfig({ sandbox: { backends: { docker } } }),
  });
  describe(`backend ${title}`, () => {
    for (const { title: promise, skip, run } of suite) {
      it(
        skip === undefined ? promise : `${promise} (skipped: ${skip})`,
        { skip: skip !== undefined, timeout: 60_000 },
        run,
      );
    }
  });
}

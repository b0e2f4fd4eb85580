import { describe } from "vitest";
import { startDocker } from "../../test/setup/docker.js";
import { requires } from "../../test/setup/requires.js";
import { openTcpGate } from "../../test/setup/tcp-gate.js";

import { parseConfig } from "../config/index.js";
import { loadConformanceSuite } from "./conformance.js";

/** What depends on where the daemon is. All of it in gVisor's own kernel, and over the wire, takes minutes. */
const BY_DISTANCE = /memory|session|reaped|^(?!limits).*files/;

interface Target extends ReturnType<typeof requires> {
  readonly title: string;
  readonly name: string;
  readonly isLocal: boolean;
  readonly only?: RegExp;
}

const BACKENDS: readonly Target[] = [
  { title: "docker", name: "docker", isLocal: true, ...requires("docker") },
  { title: "docker elsewhere", name: "docker", isLocal: false, ...requires("docker") },
  { title: "gvisor", name: "gvisor", isLocal: true, ...requires("docker", "gvisor") },
  {
    title: "gvisor elsewhere",
    name: "gvisor",
    isLocal: false,
    only: BY_DISTANCE,
    ...requires("docker", "gvisor"),
  },
];

for (const { title, name, isLocal, only = /./, it, missing } of BACKENDS) {
  const found = missing.length === 0 ? (await startDocker()).host : undefined;
  // Behind TCP the daemon could be on any machine: nothing of this one's files or groups is used.
  const host = isLocal || found === undefined ? found : (await openTcpGate(found)).host;
  const docker = { ...(host !== undefined && { host }), shareFiles: isLocal ? "always" : "auto" };
  const suite = await loadConformanceSuite({
    name,
    config: await parseConfig({ sandbox: { backends: { docker } } }),
  });
  describe(`backend ${title}`, () => {
    for (const { title: promise, skip, run } of suite.filter((each) => only.test(each.title))) {
      it(
        skip === undefined ? promise : `${promise} (skipped: ${skip})`,
        { skip: skip !== undefined, timeout: 60_000 },
        run,
      );
    }
  });
}

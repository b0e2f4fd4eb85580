import { execFileSync } from "node:child_process";
import { afterAll, beforeAll } from "vitest";
import { ownPlace } from "../../src/backends/docker/labels.js";
import { startDocker } from "../setup/docker.js";
import { requires } from "../setup/requires.js";
import { describeTarget, Siege, TEST_TIMEOUT_MS } from "./siege-cases.js";
import { USERS } from "./tree.js";

/** The backends whose walls a container engine builds; whoever may talk to the engine is root already. */
const TARGETS = [
  ["docker", { backend: "docker", docker: {} }],
  ["docker without a shared directory", { backend: "docker", docker: { shareFiles: "never" } }],
  ["gvisor", { backend: "gvisor", docker: {} }],
  ["gvisor without a shared directory", { backend: "gvisor", docker: { shareFiles: "never" } }],
] as const;

const { missing } = requires("linux", "docker", "gvisor", "debootstrap");

let siege: Siege;
beforeAll(() => {
  siege = new Siege();
}, TEST_TIMEOUT_MS);
afterAll(() => siege?.end(), TEST_TIMEOUT_MS);

for (const [title, { backend, docker }] of missing.length === 0 ? TARGETS : []) {
  describeTarget(
    title,
    USERS.slice(0, 1),
    () => siege,
    async () => {
      const { host } = await startDocker();
      return {
        backend,
        config: { backends: { docker: { host, ...docker } } },
        // gVisor's processes are its own kernel's: this host sees their container.
        ...(backend === "gvisor" && { countAlive: (stateDir) => countContainers(host, stateDir) }),
      };
    },
  );
}

function countContainers(host: string, stateDir: string): number {
  const filters = Object.entries(ownPlace(stateDir)).flatMap(([name, value]) => [
    "--filter",
    `label=${name}=${value}`,
  ]);
  return execFileSync("docker", ["-H", host, "ps", "-q", ...filters], { encoding: "utf8" })
    .split("\n")
    .filter(Boolean).length;
}

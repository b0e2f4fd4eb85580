import { afterAll, beforeAll } from "vitest";
import { startDocker } from "../setup/docker.js";
import { requires } from "../setup/requires.js";
import { describeTarget, Siege, TEST_TIMEOUT_MS } from "./siege.js";
import { USERS } from "./tree.js";

/** The backends whose walls a container engine builds; whoever may talk to the engine is root already. */
const TARGETS = [
  ["docker", { backend: "docker", docker: {} }],
  ["docker without a shared directory", { backend: "docker", docker: { shareFiles: "never" } }],
  ["gvisor", { backend: "gvisor", docker: {} }],
] as const;

const { missing } = requires("linux", "docker", "gvisor", "debootstrap");

let siege: Siege;
beforeAll(() => {
  siege = new Siege();
});
afterAll(() => siege?.end(), TEST_TIMEOUT_MS);

for (const [title, { backend, docker }] of missing.length === 0 ? TARGETS : []) {
  describeTarget(
    title,
    USERS.slice(0, 1),
    () => siege,
    async () => {
      const { host } = await startDocker();
      return { backend, config: { backends: { docker: { host, ...docker } } } };
    },
  );
}

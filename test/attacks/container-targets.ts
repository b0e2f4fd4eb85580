import { execFileSync } from "node:child_process";
import { afterAll, beforeAll } from "vitest";
import { stateLabels } from "../../src/runtime/backends/containers/container/labels.js";
import type { TestDaemon } from "../setup/docker.js";
import type { Group } from "./attack.js";
import { AttackRuns, describeTarget, TEST_TIMEOUT_MS } from "./attack-cases.js";
import { USERS } from "./package-copy.js";

export interface ContainerTarget {
  readonly title: string;
  readonly backend: "docker" | "gvisor";
  readonly shareFiles?: "never";
  /** Left out: all of them. */
  readonly groups?: readonly Group[];
}

/** What depends on whether a directory is shared; the walls are the same. */
export const BY_DISTANCE: readonly Group[] = ["files", "resources", "host file API"];
/** What depends on who builds the walls; how much is used, and what the host reads, does not. */
export const BY_BUILDER: readonly Group[] = ["files", "processes", "network", "information"];

/** Attacks backends whose walls a container engine builds; a user of the engine is root already. */
export function describeContainers(
  start: () => Promise<TestDaemon>,
  targets: readonly ContainerTarget[],
): void {
  let runs: AttackRuns;
  beforeAll(() => {
    runs = new AttackRuns();
  }, TEST_TIMEOUT_MS);
  afterAll(() => runs?.end(), TEST_TIMEOUT_MS);

  for (const { title, backend, shareFiles, groups } of targets) {
    describeTarget(
      title,
      USERS.slice(0, 1),
      () => runs,
      async () => {
        const { host } = await start();
        const docker = { host, ...(shareFiles !== undefined && { shareFiles }) };
        return {
          backend,
          config: { backends: { docker } },
          // gVisor's processes are its own kernel's: this host sees their container.
          ...(backend === "gvisor" && { countAlive: (stateDir) => countContainers(host, stateDir) }),
        };
      },
      groups,
    );
  }
}

function countContainers(host: string, stateDir: string): number {
  const filters = Object.entries(stateLabels(stateDir)).flatMap(([name, value]) => [
    "--filter",
    `label=${name}=${value}`,
  ]);
  return execFileSync("docker", ["-H", host, "ps", "-q", ...filters], { encoding: "utf8" })
    .split("\n")
    .filter(Boolean).length;
}

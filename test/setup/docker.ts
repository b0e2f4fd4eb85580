import { requestDaemon } from "./request-daemon.js";

export type DaemonKind = "docker" | "podman";

export interface TestDaemon {
  /** As in DOCKER_HOST. */
  readonly host: string;
  /** Python, Node, the data packages and the tools. */
  readonly image: string;
}

/**
 * The test run's own Docker daemon, with the sandbox image in it and runsc as a runtime. The first caller waits until
 * it has started and the image is made: give hooks that call this `DOCKER_START_MS`.
 */
export function startDocker(): Promise<TestDaemon> {
  return requestDaemon("docker");
}

/** The test run's own Podman service, with the same image in it. */
export function startPodman(): Promise<TestDaemon> {
  return requestDaemon("podman");
}

export const DOCKER_START_MS = 600_000;

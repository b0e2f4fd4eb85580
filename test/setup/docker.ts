import { connect } from "node:net";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the test run's main process waits to be asked for a daemon. */
    daemonDoor: string;
  }
}

export type DaemonKind = "docker" | "podman";

export interface TestDaemon {
  /** As in DOCKER_HOST. */
  readonly host: string;
  /** Python, Node, the data packages and the tools. */
  readonly image: string;
}

/**
 * The test run's own Docker daemon, with the sandbox image in it and runsc as a runtime. The first who asks waits until
 * it has started and the image is made: give hooks that call this `DOCKER_START_MS`.
 */
export function startDocker(): Promise<TestDaemon> {
  return askFor("docker");
}

/** The test run's own Podman service, with the same image in it. */
export function startPodman(): Promise<TestDaemon> {
  return askFor("podman");
}

export const DOCKER_START_MS = 600_000;

function askFor(kind: DaemonKind): Promise<TestDaemon> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(inject("daemonDoor"));
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      answer += chunk;
    });
    socket.once("error", reject);
    socket.once("end", () => {
      const { error, ...daemon } = JSON.parse(answer) as TestDaemon & { error?: string };
      if (error === undefined) resolve(daemon);
      else reject(new Error(error));
    });
    socket.write(`${kind}\n`);
  });
}

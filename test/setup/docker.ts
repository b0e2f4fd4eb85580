import { connect } from "node:net";
import { inject } from "vitest";

declare module "vitest" {
  interface ProvidedContext {
    /** Where the test run's main process waits to be asked for a Docker daemon. */
    dockerDoor: string;
  }
}

export interface TestDocker {
  /** As in DOCKER_HOST. */
  readonly host: string;
  /** Python, Node, the data packages and the tools. */
  readonly image: string;
}

/**
 * The test run's own Docker daemon, with the sandbox image in it and runsc as a runtime. The first who asks waits until
 * it has started and the image is made: give hooks that call this `DOCKER_START_MS`.
 */
export function startDocker(): Promise<TestDocker> {
  return new Promise((resolve, reject) => {
    let answer = "";
    const socket = connect(inject("dockerDoor"));
    socket.setEncoding("utf8");
    socket.on("data", (chunk: string) => {
      answer += chunk;
    });
    socket.once("error", reject);
    socket.once("end", () => {
      const { error, ...docker } = JSON.parse(answer) as TestDocker & { error?: string };
      if (error === undefined) resolve(docker);
      else reject(new Error(error));
    });
  });
}

export const DOCKER_START_MS = 600_000;

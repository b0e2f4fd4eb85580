import { execFile } from "node:child_process";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The containers and volumes of a daemon, which tests should have removed. */
export async function findDockerLeaks(host: string): Promise<string[]> {
  const list = async (...args: string[]) => {
    const { stdout } = await run("docker", ["-H", host, ...args]);
    return stdout.split("\n").filter((line) => line !== "");
  };
  const containers = await list("ps", "--all", "--format", "{{.Names}} ({{.Image}}, {{.Status}})");
  const volumes = await list("volume", "ls", "--format", "{{.Name}}");
  // The next sandbox uses it: it is removed with the last process that made it.
  const guests = await list("volume", "ls", "--filter", "label=dev.skerry.guest", "--format", "{{.Name}}");
  return [
    ...containers.map((each) => `container: ${each}`),
    ...volumes.filter((each) => !guests.includes(each)).map((each) => `volume: ${each}`),
  ];
}

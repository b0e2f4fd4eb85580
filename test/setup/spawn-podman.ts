import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitForDaemon } from "./spawn-dockerd.js";

/** Starts Podman's service that keeps everything in this directory; resolves when it answers at `podmanHostIn`. */
export async function spawnPodman(directory: string): Promise<ChildProcess> {
  const settings = join(directory, "containers.conf");
  const temporary = join(directory, "tmp");
  mkdirSync(temporary);
  // In files, all of them here: by default there are locks in shared memory, which stay.
  writeFileSync(
    settings,
    `[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
tmp_dir = ${JSON.stringify(temporary)}
`,
  );
  const log = openSync(join(directory, "log"), "a");
  // Podman takes no longer path than 50 characters for the second.
  const places = ["--root", join(directory, "storage"), "--runroot", join(directory, "r")];
  const service = spawn("podman", [...places, "system", "service", "--time", "0", podmanHostIn(directory)], {
    stdio: ["ignore", log, log],
    env: { ...process.env, CONTAINERS_CONF: settings, TMPDIR: directory },
    // Its conmon writes a file named "oom" there when memory runs out.
    cwd: directory,
  });
  closeSync(log);
  return waitForDaemon(service, podmanHostIn(directory), directory);
}

/** As in DOCKER_HOST. */
export function podmanHostIn(directory: string): string {
  return `unix://${directory}/podman.sock`;
}

import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { waitUntil } from "../../src/kit/wait-until.js";

const START_MS = 30_000;

/** Starts a Docker daemon that keeps everything in this directory; resolves when it answers at `dockerHostIn`. */
export async function spawnDockerd(directory: string, config: object): Promise<ChildProcess> {
  const file = join(directory, "daemon.json");
  writeFileSync(file, JSON.stringify(config));
  const log = openSync(join(directory, "log"), "a");
  const places = ["data-root", "exec-root", "pidfile"].flatMap((name) => [
    `--${name}`,
    join(directory, name),
  ]);
  const host = dockerHostIn(directory);
  const daemon = spawn(
    "dockerd",
    [
      ...["--config-file", file, "-H", host],
      ...["--iptables=false", "--ip6tables=false", "--bridge=none", ...places],
    ],
    // Its containerd writes what it was doing there, when it is told to end in the middle of something.
    { stdio: ["ignore", log, log], env: { ...process.env, TMPDIR: directory } },
  );
  closeSync(log);
  return waitForDaemon(daemon, host, directory);
}

/** Resolves when the daemon answers; its log is in the directory. */
export async function waitForDaemon(
  daemon: ChildProcess,
  host: string,
  directory: string,
): Promise<ChildProcess> {
  const answers = () => spawnSync("docker", ["-H", host, "version"], { stdio: "ignore" }).status === 0;
  await waitUntil(() => daemon.exitCode !== null || answers(), START_MS).catch(() => undefined);
  if (daemon.exitCode === null && answers()) return daemon;
  daemon.kill("SIGKILL");
  const log = readFileSync(join(directory, "log"), "utf8").slice(-2000);
  throw new Error(`${daemon.spawnfile} did not start: ${log}`);
}

/** As in DOCKER_HOST. */
export function dockerHostIn(directory: string): string {
  return `unix://${directory}/docker.sock`;
}

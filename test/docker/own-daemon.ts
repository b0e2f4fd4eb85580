import { type ChildProcess, execFileSync } from "node:child_process";
import { once } from "node:events";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { dockerHostIn, spawnDockerd } from "../setup/spawn-dockerd.js";

const PROGRAMS = ["sh", "sleep", "cat", "tail", "head", "touch", "ls", "echo", "id"].map(
  (name) => `/usr/bin/${name}`,
);

/** Leaves what runsc leaves when it cannot start a container: empty groups under its id, the last argument. */
const BROKEN_RUNTIME = `#!/bin/sh
for id; do :; done
for groups in /sys/fs/cgroup/memory /sys/fs/cgroup; do
  case " $* " in *" create "*) ;; *) break ;; esac
  [ -e $groups/cgroup.procs ] || continue
  mkdir -p $groups/skerry/$id && echo $groups/skerry/$id >> "\${0%/*}/broken-groups"
  break
done
exit 1
`;

/** A daemon that a test may kill, with an image of a few programs and no interpreter. */
export class OwnDaemon {
  readonly directory = mkdtempSync("/tmp/skerry-own-docker-");
  readonly host = dockerHostIn(this.directory);
  readonly image = "few-programs:1";
  readonly #containerdPid = join(this.directory, "exec-root/containerd/containerd.pid");
  #process: ChildProcess | undefined;

  async start(): Promise<void> {
    const path = join(this.directory, "broken-runtime");
    writeFileSync(path, BROKEN_RUNTIME, { mode: 0o755 });
    this.#process = await spawnDockerd(this.directory, { runtimes: { broken: { path } } });
  }

  docker(...args: string[]): string {
    return execFileSync("docker", ["-H", this.host, ...args], {
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  }

  importImage(): void {
    const root = join(this.directory, "root");
    const libraries = PROGRAMS.flatMap(
      (path) => execFileSync("ldd", [path], { encoding: "utf8" }).match(/\/\S+/g) ?? [],
    );
    for (const path of new Set([...PROGRAMS, ...libraries])) {
      const to = path.startsWith("/usr") ? join(root, path) : join(root, "usr", path);
      mkdirSync(dirname(to), { recursive: true });
      cpSync(path, to, { dereference: true });
    }
    for (const name of ["bin", "lib", "lib64"]) execFileSync("ln", ["-s", `usr/${name}`, join(root, name)]);
    const archive = join(this.directory, "root.tar");
    execFileSync("tar", ["-C", root, "-cf", archive, "."]);
    this.docker("import", archive, this.image);
    rmSync(archive);
    rmSync(root, { recursive: true });
  }

  async kill(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    if (this.#process === undefined || this.#process.exitCode !== null) return;
    const ended = once(this.#process, "exit");
    // Its containerd would outlive it, and keep the next one's from starting.
    if (signal === "SIGKILL") process.kill(Number(readFileSync(this.#containerdPid, "utf8")), signal);
    this.#process.kill(signal);
    await ended;
    // A zombie containerd would look like one that runs.
    if (signal === "SIGKILL") rmSync(this.#containerdPid, { force: true });
    this.#process = undefined;
  }

  async remove(): Promise<void> {
    // One that was killed has left its containers, which the next one takes over and ends.
    if (this.#process === undefined) await this.start();
    await this.kill("SIGTERM");
    const mounts = readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .map((line) => line.split(" ")[1] ?? "");
    for (const path of mounts.filter((each) => each.startsWith(this.directory)).reverse())
      execFileSync("umount", ["-l", path]);
    rmSync(this.directory, { recursive: true, force: true });
  }
}

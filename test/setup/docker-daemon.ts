import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";
import { createDaemonDirectory, removeAbandonedDaemons, removeDaemonDirectory } from "./daemon-directory.js";
import type { TestDocker } from "./docker.js";
import { findDockerLeaks } from "./docker-leaks.js";
import { reportLeaks } from "./leaks.js";
import { dockerHostIn, spawnDockerd } from "./spawn-dockerd.js";

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const IMAGE_SOURCES = join(ROOT, "deploy/images/sandbox");
const IMAGE = "skerry-sandbox:latest";
const ABANDONED_MS = 60 * 60 * 1000;
const RUNTIMES = {
  runsc: { path: "/usr/bin/runsc", runtimeArgs: ["--platform=ptrace", "--network=none"] },
};

/**
 * Waits at a socket for the first test that wants a Docker daemon, and starts one for the whole run. Whoever runs the
 * tests may have a daemon of their own: SKERRY_TEST_DOCKER_HOST, with the image in it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandonedDaemons();
  const directory = createDaemonDirectory();
  let daemon: Promise<TestDocker> | undefined;
  const stops: (() => Promise<void>)[] = [];
  const server = createServer((socket) => {
    daemon ??= startDaemon(directory, stops);
    daemon.then(
      (docker) => answer(socket, docker),
      (error: Error) => answer(socket, { error: error.message }),
    );
  });
  const door = join(directory, "door");
  server.listen(door);
  await once(server, "listening");
  project.provide("dockerDoor", door);
  return async () => {
    server.close();
    await daemon?.catch(() => undefined);
    for (const stop of stops.reverse()) await stop();
    await removeDaemonDirectory(directory);
  };
}

function answer(socket: Socket, content: object): void {
  socket.on("error", () => undefined);
  socket.end(JSON.stringify(content));
}

async function startDaemon(directory: string, stops: (() => Promise<void>)[]): Promise<TestDocker> {
  const given = process.env["SKERRY_TEST_DOCKER_HOST"];
  if (given !== undefined) return { host: given, image: IMAGE };
  const host = dockerHostIn(directory);
  const daemon = await spawnDockerd(directory, existsSync(RUNTIMES.runsc.path) ? { runtimes: RUNTIMES } : {});
  const ended = once(daemon, "exit");
  stops.push(async () => {
    await reportLeaks(() => findDockerLeaks(host));
    daemon.kill("SIGTERM");
    const late = setTimeout(() => daemon.kill("SIGKILL"), 20_000);
    await ended;
    clearTimeout(late);
  });
  await importImage(host);
  return { host, image: IMAGE };
}

/** Made once per state of its sources, since that takes minutes; importing it takes seconds. */
async function importImage(host: string, mayTryAgain = true): Promise<void> {
  const cache = join(ROOT, "build/test-image");
  mkdirSync(cache, { recursive: true });
  const archive = join(cache, `${digestOf(IMAGE_SOURCES)}.tar`);
  if (!existsSync(archive)) {
    // Of earlier sources, or of a run that was killed; another run may be making one now.
    for (const name of readdirSync(cache)) {
      const path = join(cache, name);
      const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
      if (name.endsWith(".tar") || age > ABANDONED_MS) rmSync(path, { recursive: true, force: true });
    }
    const unfinished = `${archive}.${process.pid}`;
    const made = run(
      "sh",
      [join(IMAGE_SOURCES, "make-root.sh"), "--with", "data", "--with", "tools", unfinished],
      {
        maxBuffer: 64 << 20,
      },
    );
    await made.catch((error: Error & { stderr?: string }) => {
      rmSync(unfinished, { force: true });
      throw new Error(`The sandbox image cannot be made: ${error.stderr?.slice(-2000) ?? error.message}`);
    });
    renameSync(unfinished, archive);
  }
  // Open, it is read to its end even when another run removes it.
  const file = await open(archive).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT" && mayTryAgain) return undefined;
    throw error;
  });
  if (file === undefined) return importImage(host, false);
  const docker = spawn("docker", ["-H", host, "import", "--change", "USER 1000:1000", "-", IMAGE], {
    stdio: ["pipe", "ignore", "inherit"],
  });
  const ended = once(docker, "exit") as Promise<[number | null]>;
  const [[status]] = await Promise.all([ended, pipeline(file.createReadStream(), docker.stdin)]);
  if (status !== 0) throw new Error("The sandbox image cannot be imported");
}

function digestOf(directory: string): string {
  const hash = createHash("sha256");
  const entries = readdirSync(directory, { recursive: true, encoding: "utf8" }).sort();
  for (const name of entries) {
    const path = join(directory, name);
    if (name.endsWith(".md") || !statSync(path).isFile()) continue;
    hash.update(name).update(readFileSync(path));
  }
  return hash.digest("hex").slice(0, 16);
}

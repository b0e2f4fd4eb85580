import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { TestProject } from "vitest/node";
import { createDaemonDirectory, removeAbandonedDaemons, removeDaemonDirectory } from "./daemon-directory.js";
import type { DaemonKind, TestDaemon } from "./docker.js";
import { findDockerLeaks } from "./docker-leaks.js";
import { reportLeaks } from "./leaks.js";
import { importSandboxImage, SANDBOX_IMAGE } from "./sandbox-image.js";
import { dockerHostIn, spawnDockerd } from "./spawn-dockerd.js";
import { podmanHostIn, spawnPodman } from "./spawn-podman.js";
import { spawnPostgres } from "./spawn-postgres.js";

const RUNTIMES = {
  runsc: { path: "/usr/bin/runsc", runtimeArgs: ["--platform=ptrace", "--network=none"] },
};

const DAEMONS = {
  docker: {
    given: "SKERRY_TEST_DOCKER_HOST",
    hostIn: dockerHostIn,
    spawn: (directory: string) =>
      spawnDockerd(directory, existsSync(RUNTIMES.runsc.path) ? { runtimes: RUNTIMES } : {}),
  },
  podman: { given: "SKERRY_TEST_PODMAN_HOST", hostIn: podmanHostIn, spawn: spawnPodman },
} as const;

/**
 * Waits at a socket for the first test that wants a daemon, and starts one of the kind for the whole run. A
 * daemon with the image in it may be named instead.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  await removeAbandonedDaemons();
  const directory = createDaemonDirectory();
  const daemons = new Map<string, Promise<object>>();
  const stops: (() => Promise<void>)[] = [];
  const startNew = (kind: string): Promise<object> =>
    kind === "postgres" ? startPostgres(directory, stops) : startDaemon(kind as DaemonKind, directory, stops);
  const start = (kind: string): Promise<object> => {
    const started = daemons.get(kind) ?? startNew(kind);
    daemons.set(kind, started);
    return started;
  };
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    createInterface(socket).once("line", (kind) => {
      start(kind).then(
        (daemon) => answer(socket, daemon),
        (error: Error) => answer(socket, { error: error.message }),
      );
    });
  });
  const path = join(directory, "socket");
  server.listen(path);
  await once(server, "listening");
  project.provide("daemonProxySocket", path);
  return async () => {
    server.close();
    await Promise.allSettled(daemons.values());
    for (const stop of stops.reverse()) await stop();
    await removeDaemonDirectory(directory);
  };
}

function answer(socket: Socket, content: object): void {
  socket.end(JSON.stringify(content));
}

async function startDaemon(
  kind: DaemonKind,
  parent: string,
  stops: (() => Promise<void>)[],
): Promise<TestDaemon> {
  const { given, hostIn, spawn } = DAEMONS[kind];
  const own = process.env[given];
  if (own !== undefined) return { host: own, image: SANDBOX_IMAGE };
  const directory = join(parent, kind);
  mkdirSync(directory);
  const host = hostIn(directory);
  const daemon = await spawn(directory);
  const ended = once(daemon, "exit");
  stops.push(async () => {
    await reportLeaks(() => findDockerLeaks(host));
    daemon.kill("SIGTERM");
    const late = setTimeout(() => daemon.kill("SIGKILL"), 20_000);
    await ended;
    clearTimeout(late);
  });
  await importSandboxImage(host);
  return { host, image: SANDBOX_IMAGE };
}

async function startPostgres(parent: string, stops: (() => Promise<void>)[]): Promise<{ url: string }> {
  const postgres = await spawnPostgres(join(parent, "postgres"));
  stops.push(() => postgres.stop("SIGINT"));
  return { url: postgres.url };
}

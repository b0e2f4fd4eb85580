import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type Docker from "dockerode";
import { afterEach, beforeAll, beforeEach, expect } from "vitest";
import { parseConfig } from "../../src/core/config/index.js";
import { SandboxManager, type SandboxManagerOptions } from "../../src/core/manager/index.js";
import { waitUntil } from "../../src/kit/wait-until.js";
import { stateLabels } from "../../src/runtime/backends/containers/container/labels.js";
import { connectDocker } from "../../src/runtime/backends/containers/daemon/connect.js";
import { PoolManager } from "../../src/runtime/pool/index.js";
import { temporaryDirectory } from "../setup/clean-up.js";
import { DOCKER_START_MS, startDocker, type TestDaemon } from "../setup/docker.js";
import { DockerProxy } from "../setup/docker-proxy.js";
import { requires } from "../setup/requires.js";

const { describe, it } = requires("docker", "root");

describe("what a container leaves when it cannot be removed", () => {
  let docker: TestDaemon;
  let client: Docker;
  let proxy: DockerProxy;
  let stateDir: string;
  const managers: SandboxManager[] = [];

  beforeAll(async () => {
    docker = await startDocker();
    client = await connectDocker({ host: docker.host });
  }, DOCKER_START_MS);
  beforeEach(async () => {
    stateDir = temporaryDirectory();
    proxy = await DockerProxy.open(docker.host);
  });
  afterEach(async () => {
    proxy.fate = () => "pass";
    for (const manager of managers.splice(0)) {
      await manager.reap();
      await manager.close().catch(() => undefined);
    }
    expect([await containers(), mounts()]).toEqual([[], []]);
    proxy.close();
  });

  async function open(options: Partial<SandboxManagerOptions> = {}, settings: object = {}) {
    const config = await parseConfig({
      sandbox: { backends: { docker: { host: proxy.host, image: docker.image, ...settings } } },
    });
    const manager = new SandboxManager({
      config,
      backend: "docker",
      stateDir,
      handleSignals: false,
      ...options,
    });
    managers.push(manager);
    return manager;
  }

  const containers = async () => {
    const label = Object.entries(stateLabels(stateDir)).map(([name, value]) => `${name}=${value}`);
    return (await client.listContainers({ all: true, filters: { label } })).map(({ Id }) => Id);
  };
  const mounts = () =>
    readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .filter((line) => line.includes(stateDir));
  const refuseRemovals = () => {
    proxy.fate = (request) => (request.startsWith("DELETE ") ? "refuse" : "pass");
  };

  it("tells the caller that stops the sandbox, and tries again with the next one", async () => {
    const manager = await open();
    const sandbox = await manager.startSandbox("a");
    refuseRemovals();
    await expect(manager.cleanupAll()).rejects.toSatisfy((error) =>
      /Something of the sandbox is left: the Docker daemon refused/.test(inspect(error)),
    );
    expect((await containers()).length).toBe(1);
    // Its processes end all the same, with the guest's input, and nothing is mounted any more.
    await waitUntil(
      async () => (await client.listContainers({ filters: { id: await containers() } })).length === 0,
    );
    expect(mounts()).toEqual([]);
    proxy.fate = () => "pass";
    const next = await manager.startSandbox("b");
    expect(next.id).not.toBe(sandbox.id);
    await waitUntil(async () => (await containers()).length === 1);
    await manager.close();
  });

  for (const shareFiles of ["always", "never"]) {
    it(`counts in the pool's maximum (shareFiles ${shareFiles})`, async () => {
      const pool = new PoolManager({ minInstances: 0, maxInstances: 1, acquireTimeoutMs: 4000 });
      const manager = await open({ pool }, { shareFiles });
      await (await manager.startSandbox("a")).exec(["true"]);
      refuseRemovals();
      await manager.cleanupSession("a").catch(() => undefined);
      for (const key of ["b", "c"]) {
        await expect(manager.startSandbox(key)).rejects.toMatchObject({ code: "POOL_EXHAUSTED" });
      }
      expect((await containers()).length).toBe(1);
      expect(pool.status().lastFailure).toBeDefined();
      proxy.fate = () => "pass";
      await waitUntil(async () => (await containers()).length === 0);
      expect((await (await manager.startSandbox("d")).exec(["echo", "room"])).stdout).toBe("room\n");
    });
  }

  it("does not keep a close waiting for long where the daemon is stuck", async () => {
    const manager = await open();
    await manager.startSandbox("a");
    proxy.fate = () => "stall";
    await expect(manager.close()).rejects.toSatisfy((error) =>
      /the Docker daemon did not answer within/.test(inspect(error)),
    );
    expect(await client.listContainers({ filters: { id: await containers() } })).toEqual([]);
    await manager.close();
  });

  it("starts another one where a used one cannot be killed", async () => {
    const pool = new PoolManager({ minInstances: 1, maxInstances: 1 });
    const manager = await open({ pool });
    await manager.runCodeOnce("true", { language: "bash" });
    proxy.fate = (request) => (/\/kill|\/rename/.test(request) ? "stall" : "pass");
    await manager.runCodeOnce("true", { language: "bash" });
    const result = await manager.runCodeOnce("echo next", { language: "bash" });
    expect(result.stdout).toBe("next\n");
    await manager.close();
  });

  /** A process that starts a sandbox and then waits. */
  function startHost(): ChildProcess {
    const settings = { host: proxy.host, image: docker.image };
    const script =
      `const { SandboxManager, parseConfig } = await import(${JSON.stringify(import.meta.resolve("skerry"))});\n` +
      `const config = await parseConfig(${JSON.stringify({ sandbox: { backends: { docker: settings } } })});\n` +
      `const manager = new SandboxManager({ config, backend: "docker", stateDir: ${JSON.stringify(stateDir)} });\n` +
      `await manager.startSandbox("doomed");\n` +
      `console.log("up");\nsetInterval(() => undefined, 1000);\n`;
    return spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
  }

  async function kill(host: ChildProcess): Promise<void> {
    const ended = once(host, "exit");
    host.kill("SIGKILL");
    await ended;
  }

  it("is removed by a process that uses another backend, when its maker was killed", async () => {
    const host = startHost();
    await once(host.stdout!, "data");
    // Its workspace, and the guest's files with inodes of their own.
    expect([(await containers()).length, mounts().length]).toEqual([1, 2]);
    await kill(host);
    await (await open({ backend: "subprocess" })).reap();
    expect([await containers(), mounts()]).toEqual([[], []]);
  });

  it("is a mount where the maker was killed before there was a container, and goes without the daemon", async () => {
    proxy.fate = (request) => (request.startsWith("POST /containers/create") ? "stall" : "pass");
    const host = startHost();
    await waitUntil(() => mounts().length === 1);
    await kill(host);
    proxy.fate = () => "refuse";
    await (await open({ backend: "subprocess" })).reap();
    expect([await containers(), mounts()]).toEqual([[], []]);
  });

  it("does not have a process with another backend ask the daemon where there is none", async () => {
    const manager = await open({ backend: "subprocess" });
    await manager.reap();
    mkdirSync(join(stateDir, "mounts"), { mode: 0o700 });
    await manager.reap();
    expect(proxy.requests).toEqual([]);
  });
});

function inspect(error: unknown): string {
  const { message, cause } = error as Error;
  const causes = cause instanceof AggregateError ? cause.errors : cause === undefined ? [] : [cause];
  return [message, ...causes.map(inspect)].join("; ");
}

import { readFileSync } from "node:fs";
import { chmod, chown, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterEach, beforeAll, beforeEach, expect } from "vitest";
import type { CreateSpec, Instance, SandboxBackend } from "../../src/runtime/backends/backend.js";
import type { ContainerInstance } from "../../src/runtime/backends/containers/container-instance.js";
import { createDockerBackend } from "../../src/runtime/backends/docker/backend.js";
import { temporaryDirectory } from "./clean-up.js";
import { DOCKER_START_MS, startDocker, type TestDaemon } from "./docker.js";

export interface DockerBackendFixture {
  readonly docker: TestDaemon;
  readonly stateDir: string;
  open(options?: object): SandboxBackend;
  /** What a sandbox of a session of its own is made from. */
  order(limits?: CreateSpec["limits"]): Promise<CreateSpec>;
  create(backend: SandboxBackend, spec?: CreateSpec): Promise<Instance>;
  /** Makes a used one into another. */
  recycle(backend: SandboxBackend, used: Instance, spec?: CreateSpec): Promise<Instance>;
}

/**
 * Every test of the block has a state directory of its own in front of the test run's daemon; what it created is gone
 * at its end. No other test uses the same `name` and `uid`.
 */
export function useDockerBackend(name: string, uid: number): DockerBackendFixture {
  let docker: TestDaemon;
  let stateDir: string;
  let count = 0;
  const instances: Instance[] = [];
  const owner = { uid, gid: uid };

  beforeAll(async () => {
    docker = await startDocker();
  }, DOCKER_START_MS);
  beforeEach(() => {
    stateDir = temporaryDirectory();
  });
  afterEach(async () => {
    for (const instance of instances.splice(0)) await instance.destroy();
    expect(readFileSync("/proc/mounts", "utf8")).not.toContain(stateDir);
  });

  async function keep(creating: Promise<Instance>): Promise<Instance> {
    const instance = await creating;
    instances.push(instance);
    return instance;
  }

  async function order(limits: CreateSpec["limits"] = {}): Promise<CreateSpec> {
    const path = join(stateDir, `session-${++count}`);
    await mkdir(join(path, "workspace"), { recursive: true });
    await chmod(path, 0o711);
    await chown(join(path, "workspace"), uid, uid);
    return {
      id: `sbx-${name}-${process.pid}-${count}`,
      sessionKey: `${name}${count}`,
      ephemeral: false,
      directory: { path, owner },
      limits: { memoryMb: 256, pids: 64, workspaceMb: 16, workspaceInodes: 512, tmpMb: 8, ...limits },
      requestedLimits: limits,
      filesystem: { allowRead: [], allowWrite: [], denyRead: [], denyWrite: [] },
    };
  }

  return {
    get docker() {
      return docker;
    },
    get stateDir() {
      return stateDir;
    },
    open: (options = {}) =>
      createDockerBackend({ stateDir, options: { host: docker.host, image: docker.image, ...options } }),
    order,
    create: async (backend, spec) => keep(backend.create(spec ?? (await order()))),
    recycle: async (backend, used, spec) => keep(backend.recycle!(used, spec ?? (await order()))),
  };
}

/** What a line of shell prints inside; its errors are not in it. */
export async function sh(instance: Instance, script: string, language?: string): Promise<string> {
  const { stdout, exit } = instance.runner.run({
    argv: ["sh", "-c", script],
    env: instance.baseEnv,
    cwd: "/workspace",
    ...(language !== undefined && { language }),
  });
  const [output] = await Promise.all([text(stdout), exit]);
  return output.trim();
}

export function containerOf(instance: Instance): string {
  return (instance as ContainerInstance).parts.container.id;
}

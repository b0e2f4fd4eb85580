import { afterEach, beforeAll, beforeEach, expect } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { DOCKER_START_MS, startDocker, type TestDaemon } from "../../../../../test/setup/docker.js";
import { requires } from "../../../../../test/setup/requires.js";
import { openTcpForwarder, type TcpForwarder } from "../../../../../test/setup/tcp-forwarder.js";
import { waitUntil } from "../../../../kit/wait-until.js";
import type { Instance, SandboxBackend } from "../../backend.js";
import { createDockerBackend } from "../../docker/backend.js";

const { describe, it } = requires("docker");

describe("memory kills of a daemon elsewhere", () => {
  let docker: TestDaemon;
  let gate: TcpForwarder;
  let stateDir: string;
  let backend: SandboxBackend;
  const instances: Instance[] = [];

  beforeAll(async () => {
    docker = await startDocker();
  }, DOCKER_START_MS);
  beforeEach(async () => {
    stateDir = temporaryDirectory();
    gate = await openTcpForwarder(docker.host);
    const options = { host: gate.host, image: docker.image };
    backend = createDockerBackend({ stateDir, options });
  });
  afterEach(async () => {
    for (const instance of instances.splice(0)) await instance.destroy();
    gate.close();
  });

  async function create(): Promise<Instance> {
    const limits = { memoryMb: 64, pids: 64, workspaceMb: 4, workspaceInodes: 64, tmpMb: 4 };
    const instance = await backend.create({
      id: `sbx-events-${process.pid}-${instances.length}`,
      sessionKey: "s",
      ephemeral: true,
      directory: { path: stateDir },
      limits,
      requestedLimits: limits,
      filesystem: { allowRead: [], allowWrite: [], denyRead: [], denyWrite: [] },
    });
    instances.push(instance);
    return instance;
  }

  async function run({ runner, baseEnv }: Instance, ...argv: string[]) {
    const { stdout, stderr, exit } = runner.run({ argv, env: baseEnv, cwd: "/workspace" });
    stdout.resume();
    stderr.resume();
    return exit;
  }

  const streams = () => gate.connectionsTo("/events");

  it("counts every one, each for its own container, over one connection", async () => {
    const [first, second] = [await create(), await create()];
    expect([await first.memoryKills(), await second.memoryKills()]).toEqual([0, 0]);
    for (const expected of [1, 2, 3]) {
      expect((await run(first, "tail", "/dev/zero")).signal).toBe(9);
      expect(await first.memoryKills(true)).toBe(expected);
    }
    expect(await second.memoryKills()).toBe(0);
    expect(streams().length).toBe(1);
    await first.destroy();
    expect([await first.memoryKills(), streams().length]).toEqual([3, 1]);
    await second.destroy();
    await waitUntil(() => streams().length === 0);
  });

  it("does not wait long for what did not happen", async () => {
    const instance = await create();
    expect(await instance.memoryKills()).toBe(0);
    await run(instance, "sh", "-c", "kill -9 $$");
    expect(await instance.memoryKills(true)).toBe(0);
  });

  it("asks again when the connection breaks", async () => {
    const instance = await create();
    await run(instance, "tail", "/dev/zero");
    expect(await instance.memoryKills(true)).toBe(1);
    const [broken] = streams();
    broken?.destroy();
    await waitUntil(() => streams().some((each) => each !== broken));
    // It is asked for; the daemon has answered when it tells.
    await waitUntil(async () => {
      await run(instance, "tail", "/dev/zero");
      return (await instance.memoryKills(true))! > 1;
    });
  });
});

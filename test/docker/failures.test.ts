import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect } from "vitest";
import { parseConfig } from "../../src/core/config/index.js";
import type { SandboxManager } from "../../src/core/manager/index.js";
import { waitUntil } from "../../src/kit/wait-until.js";
import type { RunningSandbox } from "../../src/runtime/sandbox/index.js";
import { temporaryDirectory } from "../setup/clean-up.js";
import { openManager } from "../setup/open-manager.js";
import { requires } from "../setup/requires.js";
import { OwnDaemon } from "./own-daemon.js";

const { describe, it } = requires("docker", "linux");

describe("what can go wrong with Docker", () => {
  let daemon: OwnDaemon;
  let stateDir: string;

  beforeAll(async () => {
    daemon = new OwnDaemon();
    await daemon.start();
    daemon.importImage();
  });
  afterAll(() => daemon.remove(), 60_000);

  beforeEach(() => {
    stateDir = temporaryDirectory();
  });

  async function open(docker: object = {}, directory = stateDir): Promise<SandboxManager> {
    const settings = { host: daemon.host, image: daemon.image, ...docker };
    const config = await parseConfig({ sandbox: { backends: { docker: settings } } });
    return openManager({ config, backend: "docker", stateDir: directory });
  }

  /** Resolves when the program runs; `lost` when it is lost with its sandbox. */
  async function startSleeping(sandbox: RunningSandbox): Promise<{ lost: Promise<void> }> {
    const execution = sandbox.exec(["sh", "-c", "echo up; sleep 60"]);
    const events = execution[Symbol.asyncIterator]();
    while ((await events.next()).value?.type !== "stdout");
    const rest = async () => {
      while (!(await events.next()).done);
    };
    return { lost: expect(rest()).rejects.toMatchObject({ code: "SANDBOX_LOST" }) };
  }

  const containers = () =>
    daemon.docker("ps", "-aq", "--filter", "label=dev.skerry.maker").split("\n").filter(Boolean);
  const mounts = () =>
    readFileSync("/proc/mounts", "utf8")
      .split("\n")
      .filter((line) => line.includes(stateDir));

  it("leaves no cgroup of a container that its runtime could not start", async () => {
    const manager = await open({ runtime: "broken" });
    await expect(manager.startSandbox("broken")).rejects.toMatchObject({
      code: "SANDBOX_START_FAILED",
    });
    const made = readFileSync(join(daemon.directory, "broken-groups"), "utf8").trim().split("\n");
    expect(made.filter((path) => existsSync(path))).toEqual([]);
    expect(daemon.docker("ps", "-aq")).toBe("");
  });

  it("says that there is no daemon, and what to do", async () => {
    const manager = await open({ host: `unix://${stateDir}/none.sock` });
    await expect(manager.startSandbox("a")).rejects.toMatchObject({
      code: "BACKEND_UNAVAILABLE",
      message: expect.stringContaining("there is no Docker daemon at unix://"),
      hint: expect.stringContaining("backends.docker.host"),
    });
  });

  it("says that this user may not talk to the daemon", async () => {
    const script =
      `const { getBackend } = await import(${JSON.stringify(new URL("runtime/backends/registry.js", import.meta.resolve("skerry")).href)});\n` +
      `const backend = await getBackend("docker", { stateDir: "/nonexistent", options: { host: ${JSON.stringify(daemon.host)} } });\n` +
      "console.log(JSON.stringify(await backend.probe()));";
    chmodSync(daemon.directory, 0o755);
    const options = { uid: 65534, gid: 65534, encoding: "utf8", env: {} } as const;
    const answer = execFileSync(process.execPath, ["--input-type=module", "-e", script], options);
    expect(JSON.parse(answer)).toMatchObject({
      available: false,
      problems: [
        {
          what: expect.stringContaining(`this user may not talk to the Docker daemon at ${daemon.host}`),
          remedy: expect.stringContaining("group docker"),
        },
      ],
    });
  });

  it("says how to get an image that is missing", async () => {
    for (const [image, hint] of [
      ["skerry-sandbox:latest", "skerry image build"],
      ["example/other:1", "docker pull example/other:1"],
    ] as const) {
      await expect((await open({ image })).startSandbox("a")).rejects.toMatchObject({
        code: "IMAGE_MISSING",
        hint: expect.stringContaining(hint),
      });
    }
    expect([containers(), mounts()]).toEqual([[], []]);
  });

  it("says that an image has no interpreter, and goes on working", async () => {
    const sandbox = await (await open()).startSandbox("a");
    await expect(Promise.resolve(sandbox.runCode("1", { language: "python" }))).rejects.toMatchObject({
      code: "LANGUAGE_UNAVAILABLE",
    });
    expect((await sandbox.exec(["echo", "alive"])).stdout).toBe("alive\n");
  });

  it("tells the end at a timeout and at the memory limit", async () => {
    const sandbox = await (await open()).startSandbox("a", { limits: { memoryMb: 32 } });
    expect((await sandbox.exec(["sleep", "60"], { timeoutMs: 300 })).reason).toBe("timeout");
    for (let round = 0; round < 2; round++) {
      expect((await sandbox.exec(["tail", "/dev/zero"])).reason).toBe("memory");
    }
    expect((await sandbox.exec(["echo", "alive"])).stdout).toBe("alive\n");
  });

  it("loses a container that is killed from outside at once, and starts the next one", async () => {
    const manager = await open();
    const sandbox = await manager.startSandbox("a");
    await sandbox.exec(["sh", "-c", "echo kept > file"]);
    const running = await startSleeping(sandbox);
    daemon.docker("kill", ...containers());
    await running.lost;
    await waitUntil(() => containers().length === 0);
    const next = await manager.startSandbox("a");
    expect((await next.exec(["cat", "file"])).stdout).toBe("kept\n");
  });

  it("loses its sandboxes with the daemon, says that it is gone, and works again when it is back", async () => {
    const manager = await open();
    const sandbox = await manager.startSandbox("a");
    const running = await startSleeping(sandbox);
    await daemon.kill("SIGKILL");
    await running.lost;
    await expect(manager.startSandbox("b")).rejects.toMatchObject({
      code: "BACKEND_UNAVAILABLE",
      hint: expect.any(String),
    });
    await daemon.start();
    const next = await manager.startSandbox("b");
    expect((await next.exec(["echo", "back"])).stdout).toBe("back\n");
    await manager.close();
    await waitUntil(async () => {
      await manager.reap();
      return containers().length === 0 && mounts().length === 0;
    });
  });

  it("says that the state directory's disk is full", async () => {
    const small = join(stateDir, "small");
    mkdirSync(small);
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=32m,mode=711", "tmpfs", small]);
    try {
      const manager = await open({}, small);
      await expect(manager.startSandbox("a")).rejects.toMatchObject({ code: "DISK_FULL" });
      await manager.close();
    } finally {
      execFileSync("umount", [small]);
    }
    expect(containers()).toEqual([]);
  });

  it("says that the daemon's disk is full, and works again when there is room", async () => {
    const small = new OwnDaemon();
    mkdirSync(join(small.directory, "data-root"));
    execFileSync("mount", ["-t", "tmpfs", "-o", "size=96m", "tmpfs", join(small.directory, "data-root")]);
    try {
      await small.start();
      small.importImage();
      const manager = await open({ host: small.host });
      const { bavail, bsize } = statfsSync(join(small.directory, "data-root"));
      const filler = join(small.directory, "data-root", "filler");
      writeFileSync(filler, Buffer.alloc(bavail * bsize));
      await expect(manager.startSandbox("a", { ephemeral: true })).rejects.toMatchObject({
        code: "DISK_FULL",
      });
      expect(mounts()).toEqual([]);
      rmSync(filler);
      const sandbox = await manager.startSandbox("a", { ephemeral: true });
      expect((await sandbox.exec(["echo", "room"])).stdout).toBe("room\n");
      await manager.close();
    } finally {
      await small.remove();
    }
  });

  it("leaves nothing of a process that was killed", async () => {
    const docker = { host: daemon.host, image: daemon.image };
    const script =
      `const { SandboxManager, parseConfig } = await import(${JSON.stringify(import.meta.resolve("skerry"))});\n` +
      `const config = await parseConfig(${JSON.stringify({ sandbox: { backends: { docker } } })});\n` +
      `const manager = new SandboxManager({ config, backend: "docker", stateDir: ${JSON.stringify(stateDir)} });\n` +
      `const sandbox = await manager.startSandbox("doomed", { ephemeral: true });\n` +
      `const events = sandbox.exec(["sh", "-c", "echo up; sleep 1000"]);\n` +
      `for await (const event of events) if (event.type === "stdout") console.log("up");\n`;
    const host = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(host.stdout, "data");
    // Its workspace, and the guest's files with inodes of their own.
    expect([containers().length, mounts().length]).toEqual([1, 2]);
    host.kill("SIGKILL");
    await once(host, "exit");
    // The guest ends with its input; what is left of it is found by its label.
    await waitUntil(() => daemon.docker("ps", "-q").trim() === "");
    await (await open()).reap();
    expect([containers(), mounts()]).toEqual([[], []]);
  });
});

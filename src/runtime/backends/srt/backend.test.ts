import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import { parseConfig } from "../../../core/config/index.js";
import { SandboxManager } from "../../../core/manager/index.js";
import { waitUntil } from "../../../kit/wait-until.js";
import { createSrtBackend } from "./backend.js";
import { findSrtFacts, probeSrt } from "./probe.js";
import { findSrtPackage } from "./srt-package.js";

const real = requires("linux", "bubblewrap", "sandbox-runtime", "python3");
const root = requires("root", "bubblewrap", "sandbox-runtime", "python3");
const TIMEOUT = { timeout: 180_000 };

let directory: string;
let manager: SandboxManager;
beforeEach(async () => {
  directory = temporaryDirectory();
  const settingsPath = join(directory, "home", "settings.json");
  mkdirSync(join(directory, "home"));
  writeFileSync(settingsPath, "{}");
  const config = await parseConfig({ sandbox: { backends: { srt: { settingsPath } } } }, "test");
  manager = openManager({ config, backend: "srt", stateDir: join(directory, "state") });
});

describe("without its package", () => {
  it("is not available, and says what to install", async () => {
    expect(findSrtPackage(directory)).toBeUndefined();
    const probe = await probeSrt(
      { ...(await findSrtFacts(undefined)), srt: undefined },
      join(directory, "state"),
      {},
    );
    expect([probe.available, probe.problems[0]]).toEqual([
      false,
      {
        what: "@anthropic-ai/sandbox-runtime is not installed",
        remedy: "npm install @anthropic-ai/sandbox-runtime@0.0.78",
      },
    ]);
  });
});

describe("the version of sandbox-runtime", () => {
  it("is the one that the package pins and the remedy names", () => {
    const { optionalDependencies } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(optionalDependencies).toMatchObject({ "@anthropic-ai/sandbox-runtime": "0.0.78" });
  });
});

real.describe("a sandbox behind sandbox-runtime", () => {
  it("keeps its settings where people can read them, until it stops", TIMEOUT, async () => {
    const sandbox = await manager.startSandbox("one", { ephemeral: true });
    const [file] = readdirSync(join(directory, "home", "srt-sessions"));
    const settings = JSON.parse(readFileSync(join(directory, "home", "srt-sessions", file!), "utf8"));
    expect(settings.network.allowedDomains).toEqual([]);
    expect(settings.filesystem.allowWrite[0]).toMatch(/\/state\/ephemeral\/.*\/workspace$/);
    const label = file!.replace(/\.json$/, "");
    expect(readdirSync(join(directory, "state", "srt"))).toEqual([label]);
    await sandbox.stop();
    expect(readdirSync(join(directory, "home", "srt-sessions"))).toEqual([]);
    expect(readdirSync(join(directory, "state", "srt"))).toEqual([]);
  });

  it("starts where the state directory's path is too long for a socket's", TIMEOUT, async () => {
    const stateDir = join(directory, "long, and odd-".repeat(8));
    await using other = new SandboxManager({ backend: "srt", stateDir, handleSignals: false });
    const sandbox = await other.startSandbox("one", { ephemeral: true });
    expect((await sandbox.exec(["echo", "started"])).stdout).toBe("started\n");
    const [name] = readdirSync(join(stateDir, "srt"));
    const elsewhere = readlinkSync(join(stateDir, "srt", name!));
    expect(existsSync(elsewhere)).toBe(true);
    await sandbox.stop();
    expect([existsSync(elsewhere), readdirSync(join(stateDir, "srt"))]).toEqual([false, []]);
  });

  it("has a loopback of its own to listen on", TIMEOUT, async () => {
    const sandbox = await manager.startSandbox("one", { ephemeral: true });
    const code =
      "import socket\ns = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname())\n" +
      "a, _ = s.accept(); c.send(b'over loopback'); print(a.recv(20).decode())";
    expect((await sandbox.runCode(code, { language: "python" })).stdout).toBe("over loopback\n");
  });

  it("is behind two walls, sandbox-runtime's and ours", TIMEOUT, async () => {
    const sandbox = await manager.startSandbox("one", { ephemeral: true });
    const marker = "1000.5150515";
    const running = sandbox.exec(["sleep", marker]).catch(() => undefined);
    const pid = await findProcess(`sleep\0${marker}\0`);
    const levels = /^NSpid:\s+(.*)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]?.split(/\s+/);
    // On the host, behind sandbox-runtime's walls, and behind ours.
    expect(levels).toHaveLength(3);
    await sandbox.stop();
    await running;
  });

  it("removes what a killed process left", TIMEOUT, async () => {
    const child = spawn("sleep", ["60"]);
    const started = readFileSync(`/proc/${child.pid}/stat`, "utf8").split(") ")[1]!.split(" ")[19];
    const label = `${child.pid}-${started}-sbx-test`;
    const left = join(directory, "state", "srt", label);
    mkdirSync(left, { recursive: true, mode: 0o711 });
    mkdirSync(join(directory, "home", "srt-sessions"), { mode: 0o700 });
    writeFileSync(join(directory, "home", "srt-sessions", `${label}.json`), "{}");
    const settingsPath = join(directory, "home", "settings.json");
    const backend = createSrtBackend({ stateDir: join(directory, "state"), options: { settingsPath } });
    await backend.reap();
    expect(existsSync(left)).toBe(true);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(await backend.reap()).toBeGreaterThanOrEqual(1);
    expect(existsSync(left)).toBe(false);
    expect(readdirSync(join(directory, "home", "srt-sessions"))).toEqual([]);
  });

  it("does not start with settings that would open its walls", TIMEOUT, async () => {
    writeFileSync(join(directory, "home", "settings.json"), '{ "filesystem": { "disabled": true } }');
    await expect(manager.startSandbox("one", { ephemeral: true })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
    });
    expect(existsSync(join(directory, "home", "srt-sessions"))).toBe(false);
  });
});

root.describe("a sandbox that root started", () => {
  it("has no process of root's, and the library's own is not counted as its memory", TIMEOUT, async () => {
    const sandbox = await manager.startSandbox("one", { ephemeral: true, limits: { memoryMb: 64 } });
    const marker = "1000.6160616";
    const running = sandbox.exec(["sleep", marker]).catch(() => undefined);
    await findProcess(`sleep\0${marker}\0`);
    const host = await findProcess("host.mjs\0--args\0");
    expect(/^Uid:\s+(\d+)/m.exec(readFileSync(`/proc/${host}/status`, "utf8"))?.[1]).not.toBe("0");
    expect(readFileSync(`/proc/${host}/environ`, "utf8")).toBe("");
    expect((await sandbox.usage())?.memoryBytes).toBeLessThan(32 * 1024 * 1024);
    await sandbox.stop();
    await running;
  });
});

async function findProcess(part: string): Promise<string> {
  let found: string | undefined;
  await waitUntil(() => {
    found = readdirSync("/proc").find((name) => /^\d+$/.test(name) && commandOf(name).includes(part));
    return found !== undefined;
  });
  return found!;
}

/** Empty for a process that has ended since. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

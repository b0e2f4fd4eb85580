import { readdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { AuditLogger, type AuditRecord, createCallbackSink } from "../../../guard/audit/index.js";
import { waitUntil } from "../../../kit/wait-until.js";
import { registerBackend } from "../../../runtime/backends/registry.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import { sessionDirectoryName } from "../../../runtime/workspace/index.js";
import { parseConfig } from "../../config/index.js";
import { withoutSharedWorkspace } from "../../testing/without-shared-workspace.js";
import { SandboxManager, type SandboxManagerOptions } from "../sandbox-manager.js";

for (const name of ["bubblewrap", "subprocess"])
  registerBackend(`${name}-elsewhere`, withoutSharedWorkspace(name));

let stateDir: string;
let manager: SandboxManager;
let warnings: string[];
const hear = ({ message }: Error) => void warnings.push(message);

beforeEach(() => {
  stateDir = temporaryDirectory();
  warnings = [];
  process.on("warning", hear);
});

afterEach(async () => {
  await manager?.close().catch(() => undefined);
  process.off("warning", hear);
});

async function start(
  runtime: { readonly idleTimeout: string; readonly maxAge: string },
  options: SandboxManagerOptions = {},
) {
  const sandbox = { runtime, limits: { workspace: "16m", fileSize: "1t" } };
  const config = await parseConfig({ sandbox }, "test");
  manager = new SandboxManager({
    ...{ config, stateDir, backend: "bubblewrap-elsewhere", handleSignals: false },
    ...options,
  });
  return manager;
}

/** A sandbox is looked at only now and then. */
const PATIENCE_MS = 20_000;
/** More than this host takes of a session, though it needs no room inside. */
const TOO_LARGE = "truncate -s 20M too-large";
const onHost = () =>
  readdirSync(join(stateDir, "sessions", sessionDirectoryName("work"), "workspace")).sort();

async function changed(command = TOO_LARGE): Promise<RunningSandbox> {
  const sandbox = await manager.startSandbox("work");
  expect(await sandbox.exec(`echo 1 > kept; ${command}`)).toMatchObject({ exitCode: 0 });
  return sandbox;
}

const loss = { code: "FILE_FAILED", message: expect.stringContaining("could be copied to this host") };

describe("an idle sandbox that shares no directory with this host", () => {
  it("stops when its files are here", async () => {
    await start({ idleTimeout: "300ms", maxAge: "never" });
    const sandbox = await changed("true");
    await waitUntil(() => !sandbox.isRunning, PATIENCE_MS);
    await sandbox.stop();
    expect(onHost()).toEqual(["kept"]);
    expect(warnings).toEqual([]);
  });

  it("keeps running while they cannot all be copied, and stops when they can", async () => {
    await start({ idleTimeout: "300ms", maxAge: "never" });
    const sandbox = await changed();
    const saves = vi.spyOn(sandbox, "save");
    await waitUntil(() => warnings.length > 0, PATIENCE_MS);
    const before = saves.mock.settledResults.length;
    await waitUntil(() => saves.mock.settledResults.length > before, PATIENCE_MS);
    const again = await manager.startSandbox("work");
    expect([again.id, await again.files.list()]).toMatchObject([sandbox.id, [{}, {}]]);
    expect(warnings).toEqual([expect.stringContaining('Session "work" is idle and keeps running')]);
    await sandbox.exec("rm too-large");
    await waitUntil(() => !sandbox.isRunning, PATIENCE_MS);
    expect((await (await manager.startSandbox("work")).exec("ls")).stdout).toBe("kept\n");
  });
});

describe("changes that were lost with a sandbox that stopped by itself", () => {
  const old = { idleTimeout: "never", maxAge: "4s" };

  it("are reported once to the session's next caller, warned of and audited", async () => {
    const records: AuditRecord[] = [];
    const audit = new AuditLogger({ sinks: [createCallbackSink((record) => void records.push(record))] });
    try {
      await start(old, { audit });
      const sandbox = await changed();
      await waitUntil(() => warnings.length > 0 && !sandbox.isRunning, PATIENCE_MS);
      manager.openSession("work");
      await expect(manager.startSandbox("work")).rejects.toMatchObject(loss);
      expect((await (await manager.startSandbox("work")).exec("ls")).stdout).toBe("kept\n");
      expect(warnings[0]).toMatch(/^Session "work": Not all that changed .* could be copied to this host/);
      await audit.flush();
      expect(records).toMatchObject([
        { event_type: "files_lost", session_id: "work", sandbox_id: sandbox.id },
      ]);
    } finally {
      await audit.close();
    }
  });

  it("are told to a tool call of the session", async () => {
    await start(old);
    await changed();
    await waitUntil(() => warnings.length > 0, PATIENCE_MS);
    const call = { sessionId: "work", command: "ls" };
    await expect(manager.executeShell(call)).rejects.toMatchObject(loss);
    expect(await manager.executeShell(call)).toMatchObject({ stdout: "kept\n" });
  });

  it("are reported by close, when no call came before", async () => {
    await start(old);
    await changed();
    await waitUntil(() => warnings.length > 0, PATIENCE_MS);
    await expect(manager.close()).rejects.toMatchObject(loss);
  });

  it("are told of a sandbox that was lost, unless its stop has told", async () => {
    manager = new SandboxManager({ stateDir, backend: "subprocess-elsewhere", handleSignals: false });
    const lose = async () => {
      const sandbox = await changed("true");
      await expect(sandbox.exec("echo 2 > more; kill -9 $PPID")).rejects.toThrow();
      return sandbox;
    };
    await lose();
    await waitUntil(() => warnings.length > 0, PATIENCE_MS);
    await expect(manager.startSandbox("work")).rejects.toMatchObject(loss);
    const second = await lose();
    await expect(second.stop()).rejects.toMatchObject(loss);
    await manager.startSandbox("work");
  });

  it("do not keep the session from being deleted", async () => {
    await start({ idleTimeout: "never", maxAge: "never" });
    await changed();
    expect(await manager.deleteSession("work")).toBe(true);
    expect(await manager.listSessions()).toEqual([]);
  });
});

import { afterEach, expect } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { requires } from "../../../../test/setup/requires.js";
import { parsePolicy } from "../../../guard/policy/index.js";
import { waitUntil } from "../../../kit/wait-until.js";
import { SandboxManager } from "../index.js";

const { describe, it } = requires("root", "bubblewrap", "cgroups", "python3");

/** A sandbox made for one of the tools makes way for a call of the other. */
const POLICY = parsePolicy(
  `
policies:
  tools:
    run_code: { max_execution_time: 30s, max_memory: 512MB }
    shell_exec: {}
  agent_roles:
    code_assistant: { tools: [run_code, shell_exec] }
`,
  "policy.yaml",
);
const caller = { role: "code_assistant" };

const managers: SandboxManager[] = [];
afterEach(() => Promise.all(managers.splice(0).map((manager) => manager.close())));

function createManager(): SandboxManager {
  const stateDir = temporaryDirectory();
  const manager = new SandboxManager({
    backend: "bubblewrap",
    stateDir,
    handleSignals: false,
    policy: POLICY,
  });
  managers.push(manager);
  return manager;
}

const shell = (manager: SandboxManager, signal?: AbortSignal) =>
  manager.execute({ ...caller, command: "echo acme", sessionId: "w1", ...(signal && { signal }) });
const python = (manager: SandboxManager) =>
  manager.execute({ ...caller, language: "python", code: "print(1)", sessionId: "w1" });

describe("a session's sandbox that has other limits than the call that comes", () => {
  it("makes way once where it starts in the background", async () => {
    const manager = createManager();
    const ahead = manager.openSession("w1", { caller });
    await waitUntil(() => manager.sandboxCount === 1);
    expect(await shell(manager)).toMatchObject({ success: true, stdout: "acme\n" });
    await ahead;
    expect(manager.sandboxStarts).toMatchObject({ succeeded: 2, failed: 0 });
    expect(manager.isRunning("w1")).toBe(true);
  });

  it("makes way once where the call is there before the background start", async () => {
    const manager = createManager();
    const [result] = await Promise.all([shell(manager), manager.openSession("w1", { caller })]);
    expect(result).toMatchObject({ success: true, stdout: "acme\n" });
    expect(manager.sandboxStarts.succeeded).toBeLessThanOrEqual(2);
  });

  it("is what its own caller gets first, where that one waits for it", async () => {
    const manager = createManager();
    const asked = manager.startSandbox("w1", { limits: { pids: 40 } });
    await waitUntil(() => manager.sandboxCount === 1);
    const [sandbox, result] = await Promise.all([asked, shell(manager)]);
    expect(result).toMatchObject({ success: true, stdout: "acme\n" });
    expect(sandbox.id).not.toBe(result.sandboxId);
    expect(manager.sandboxStarts).toMatchObject({ succeeded: 2, failed: 0 });
  });

  it("lets the waiting caller go when that one hangs up, and starts nothing for it", async () => {
    const manager = createManager();
    const asked = manager.startSandbox("w1", { limits: { pids: 40 } });
    await waitUntil(() => manager.sandboxCount === 1);
    const controller = new AbortController();
    const waiting = shell(manager, controller.signal);
    waiting.catch(() => undefined);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
    expect((await asked).isRunning).toBe(true);
    expect(manager.sandboxStarts).toMatchObject({ succeeded: 1 });
  });

  it("alternates between calls with different limits, none of which waits for ever", async () => {
    const manager = createManager();
    for (let round = 0; round < 2; round++) {
      expect(await shell(manager)).toMatchObject({ success: true, stdout: "acme\n" });
      expect(await python(manager)).toMatchObject({ success: true, stdout: "1\n" });
    }
    expect(manager.sandboxStarts).toMatchObject({ succeeded: 4, failed: 0 });
    // At the same time one of them runs, and the other is told so.
    const both = await Promise.allSettled([shell(manager), python(manager)]);
    expect(both.some(({ status }) => status === "fulfilled")).toBe(true);
    for (const each of both) {
      if (each.status === "rejected") expect(each.reason).toMatchObject({ code: "SANDBOX_BUSY" });
    }
    expect(manager.sandboxStarts.succeeded).toBeLessThanOrEqual(6);
  });
});

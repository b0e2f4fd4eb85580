import { beforeEach, expect, it } from "vitest";
import { requires } from "../../../../test/setup/requires.js";
import { ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";
import type { SandboxError } from "../../../kit/errors.js";
import { parseConfig } from "../../config/index.js";

const real = requires("root", "bubblewrap", "cgroups");

const POLICY = `
policies:
  tools:
    shell_exec: { risk_level: high }
  agent_roles:
    small: { tools: [shell_exec], max_pids: 20 }
    large: { tools: [shell_exec], max_pids: 40 }
`;
const PIDS = { small: "20\n", large: "40\n" } as const;
const LIMIT = { sessionId: "s", command: "ulimit -u" };
/** Many enough that placing them takes a while. */
const MANY_FILES = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`in/${n}.txt`, "x"]));

let fixture: ToolCallFixture;

beforeEach(async () => {
  fixture = await ToolCallFixture.open();
});

real.describe("two roles in one session", () => {
  it("each have their own limits, or are told that the sandbox is busy", async () => {
    const manager = fixture.manager({ policy: POLICY });
    const roles = ["small", "large", "small", "large"] as const;
    for (let round = 0; round < 3; round++) {
      const calls = roles.map((role) => manager.execute({ ...LIMIT, role }));
      const outcomes = await Promise.allSettled(calls);
      const said = outcomes.map((outcome, n) =>
        outcome.status === "fulfilled"
          ? outcome.value.stdout === PIDS[roles[n]!]
          : (outcome.reason as SandboxError).code,
      );
      expect(said.filter((each) => each !== true && each !== "SANDBOX_BUSY")).toEqual([]);
      expect(said).toContain(true);
    }
    const records = await fixture.records();
    expect(records).toHaveLength(12);
    expect(new Set(records.map(({ result }) => result))).toEqual(
      new Set(records.some(({ result }) => result === "error") ? ["success", "error"] : ["success"]),
    );
    for (const role of ["small", "large"] as const) {
      expect(await manager.execute({ ...LIMIT, role })).toMatchObject({ stdout: PIDS[role] });
    }
  });

  it("stand in the record of a call that named none, where the policy has a default role", async () => {
    const manager = fixture.manager({ policy: `default_role: small\n${POLICY}` });
    expect(await manager.execute(LIMIT)).toMatchObject({ stdout: PIDS.small });
    expect((await fixture.records()).map(({ role }) => role)).toEqual(["small"]);
  });

  it("cannot take the sandbox from a call that is still putting its files in place", async () => {
    const manager = fixture.manager({ policy: POLICY });
    await manager.execute({ ...LIMIT, role: "small" });
    const sandbox = await manager.startSandbox("s");
    // The moment when the lease is held and nothing runs yet.
    const write = sandbox.files.writeAll.bind(sandbox.files);
    let other: Promise<unknown> = Promise.reject(new Error("no file was written"));
    other.catch(() => undefined);
    sandbox.files.writeAll = async (files) => {
      expect(sandbox.activeExecutions).toBe(0);
      other = expect(manager.execute({ ...LIMIT, role: "large" })).rejects.toMatchObject({
        code: "SANDBOX_BUSY",
      });
      await other;
      return write(files);
    };
    const call = { ...LIMIT, role: "small", command: "ls in | wc -l", files: MANY_FILES };
    expect(await manager.execute(call)).toMatchObject({ stdout: "500\n", sandboxId: sandbox.id });
    await other;
    expect((await fixture.records()).map(({ result, role }) => [role, result])).toEqual([
      ["small", "success"],
      ["large", "error"],
      ["small", "success"],
    ]);
  });
});

real.describe("an idle sandbox is stopped", () => {
  it("but not while a call is still putting its files in place", async () => {
    const config = await parseConfig({ sandbox: { runtime: { idleTimeout: "2s" } } });
    const manager = fixture.manager({ config });
    const sandbox = await manager.startSandbox("s");
    const write = sandbox.files.writeAll.bind(sandbox.files);
    sandbox.files.writeAll = async (files) => {
      // Another session's sandbox is looked at by the same timer: once that one is gone, this one has been seen too.
      const other = await manager.startSandbox("other");
      await expect.poll(() => other.isRunning).toBe(false);
      return write(files);
    };
    const call = { sessionId: "s", command: "cat a", files: { a: "x" } };
    expect(await manager.execute(call)).toMatchObject({ stdout: "x", sandboxId: sandbox.id });
  });
});

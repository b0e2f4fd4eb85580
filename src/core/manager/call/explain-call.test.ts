import { existsSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it } from "vitest";
import { ToolCallFixture } from "../../../../test/setup/tool-call-fixture.js";
import {
  AutoApproveConfirmationService,
  AutoRejectConfirmationService,
} from "../../../guard/confirmation/index.js";
import type { PolicyVerdict } from "../../../guard/policy/index.js";
import { SandboxError } from "../../../kit/errors.js";
import type { SandboxManager, SandboxManagerOptions, ToolCall } from "../index.js";

const POLICY = `
policies:
  default: { denied_paths: [/workspace/secret/**] }
  tools:
    run_code: { risk_level: high, supported_languages: [python, bash] }
    shell_exec: { risk_level: high, denied_commands: [curl], confirm_commands: [touch] }
    system_admin: { risk_level: critical }
  agent_roles:
    coder: { tools: [run_code, shell_exec, system_admin] }
    careful: { tools: [run_code], max_risk: low }
    surfer: { tools: [run_code], network_access: true }
    reader: { tools: [file_read] }
`;
const SAFE = { language: "python", code: "print(1)" } as const;
const DANGEROUS = { language: "python", code: "import shutil\nshutil.rmtree('/')" } as const;

let fixture: ToolCallFixture;

beforeEach(async () => {
  fixture = await ToolCallFixture.open();
});

type Options = Omit<SandboxManagerOptions, "policy"> & { readonly policy?: string };
type Row = readonly [string, ToolCall, PolicyVerdict, Options];

const GUARDED: Options = { policy: POLICY };
const STRICT: Options = { securityMode: "strict" };
const PLAIN = { backend: "subprocess" } as const;

const TABLE: readonly Row[] = [
  ["safe code", { ...SAFE, role: "coder" }, "allow", GUARDED],
  ["dangerous code, which no rule names", { ...DANGEROUS, role: "coder" }, "confirm", GUARDED],
  ["code above the role's risk", { ...DANGEROUS, role: "careful" }, "deny", GUARDED],
  ["code below the role's risk", { ...SAFE, role: "careful" }, "allow", GUARDED],
  ["a denied command", { command: "ls; c\\url x", role: "coder" }, "deny", GUARDED],
  ["a denied command without a shell", { argv: ["env", "curl", "x"], role: "coder" }, "deny", GUARDED],
  ["a command to ask about", { command: "touch x", role: "coder" }, "confirm", GUARDED],
  ["a critical tool", { command: "true", tool: "system_admin", role: "coder" }, "confirm", GUARDED],
  ["a language that is not supported", { language: "javascript", code: "1", role: "coder" }, "deny", GUARDED],
  ["a tool that the role does not have", { command: "true", role: "reader" }, "deny", GUARDED],
  ["a role that is not there", { ...SAFE, role: "nobody" }, "deny", GUARDED],
  ["no role where there are some", SAFE, "deny", GUARDED],
  ["a script that it brings", { ...SAFE, role: "coder", files: { "a.sh": "curl x" } }, "allow", GUARDED],
  ["a script for a shell", { command: "sh a", role: "coder", files: { a: "curl x" } }, "deny", GUARDED],
  ["a denied input", { ...SAFE, role: "coder", files: { "secret/a": "" } }, "deny", GUARDED],
  ["a denied output", { ...SAFE, role: "coder", outputFiles: ["secret/a"] }, "deny", GUARDED],
  ["an unfiltered network", { ...SAFE, role: "surfer" }, "deny", { ...GUARDED, ...PLAIN }],
  ["walls that are too weak", { ...SAFE, role: "coder" }, "deny", { ...GUARDED, ...PLAIN }],
  ["weak walls that the mode accepts", SAFE, "allow", { securityMode: "permissive", ...PLAIN }],
  ["weak walls for what is dangerous", DANGEROUS, "deny", { securityMode: "permissive", ...PLAIN }],
  ["a weaker backend than the manager's", { ...SAFE, backend: "subprocess" }, "deny", {}],
  ["a limit that is not enforced here", SAFE, "deny", { ...PLAIN, limits: { workspaceMb: 64 } }],
  ["dangerous code without a policy", DANGEROUS, "confirm", STRICT],
  ["dangerous code without guards", { command: "rm -rf /workspace/x" }, "allow", {}],
  ["disabled sandboxes", SAFE, "deny", { mode: "disabled" }],
];

/** What became of a call, in the words of an explanation: who is asked says no. */
async function outcomeOf(manager: SandboxManager, call: ToolCall): Promise<PolicyVerdict> {
  try {
    const { reason } = await manager.execute(call);
    return reason === "denied" ? "deny" : reason === "rejected" ? "confirm" : "allow";
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    const result = (await fixture.records()).at(-1)?.result;
    expect({ code: error.code, result }).toEqual({ code: error.code, result: "denied" });
    return "deny";
  }
}

describe("an explanation", () => {
  it.each(TABLE)("of %s says what comes of it", async (_, call, verdict, options) => {
    const manager = fixture.manager({ ...options, ...asking(options) });
    const explained = await manager.explain(call);
    expect(explained.verdict).toBe(verdict);
    expect(explained.why).not.toBe("");
    expect(existsSync(fixture.auditDir)).toBe(false);
    // A person who agrees gets no further than the walls: those are not asked about again.
    const agreeing =
      explained.obstacle === undefined ? manager : fixture.manager({ ...options, ...agree(options) });
    expect(await outcomeOf(agreeing, call)).toBe(verdict);
  });

  it("says by which rule, at which risk and behind which walls", async () => {
    const manager = fixture.manager(GUARDED);
    expect(await manager.explain({ ...DANGEROUS, role: "coder" })).toMatchObject({
      verdict: "confirm",
      why: "needs a confirmation: the code's risk is critical",
      decision: { verdict: "allow", rule: { path: "policies.agent_roles.coder.tools[0]" } },
      risk: { level: "critical" },
      securityMode: "strict",
      requiredIsolation: "process",
      backend: "bubblewrap",
    });
    expect(await manager.explain({ command: "curl x", role: "coder" })).toMatchObject({
      verdict: "deny",
      why: expect.stringContaining("curl is not allowed"),
    });
  });

  it("starts nothing, asks no one and leaves nothing", async () => {
    const manager = fixture.manager(GUARDED);
    await manager.explain({ ...DANGEROUS, role: "coder", sessionId: "s" });
    expect(manager.confirmations.list()).toEqual([]);
    expect(await manager.listSessions()).toEqual([]);
    expect(await fixture.counted()).toEqual([]);
    for (const name of ["sessions", "ephemeral"])
      expect(existsSync(join(fixture.stateDir, name))).toBe(false);
  });

  it("of what is no call is the error that it would be", async () => {
    await expect(fixture.manager().explain({ command: "ls", code: "1" })).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });
});

/** Only where a service would not make the manager look at code that it does not look at. */
function asking(options: Options = {}): Options {
  const looks = options.policy !== undefined || options.securityMode !== undefined;
  return looks ? { confirmation: new AutoRejectConfirmationService("no") } : {};
}

function agree(options: Options = {}): Options {
  const looks = options.policy !== undefined || options.securityMode !== undefined;
  return looks ? { confirmation: new AutoApproveConfirmationService() } : {};
}

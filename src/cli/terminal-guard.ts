import type { Limits } from "../backends/backend.js";
import { type Config, expandHome } from "../config/index.js";
import { SandboxError } from "../errors.js";
import type { Decision, Policy, PolicyLimits } from "../policy/index.js";
import type { Caller, OpenGuards } from "./open-guards.js";
import { refusalLine, ruleText } from "./result-text.js";
import { TERMINAL_TOOL, type TerminalRecord } from "./terminal-record.js";

export interface TerminalRequest extends Caller {
  /** Empty: a shell. */
  readonly argv: readonly string[];
  readonly sessionId: string | undefined;
  /** The backend that the command line names. */
  readonly backend: string | undefined;
  readonly signal: AbortSignal;
}

/** Lets a terminal pass, or throws why not; resolves to the limits that the policy sets. */
export async function admitTerminal(
  config: Config,
  guards: OpenGuards,
  request: TerminalRequest,
  record: TerminalRecord,
): Promise<PolicyLimits> {
  const { policy, securityMode } = guards;
  if (policy === undefined && securityMode === undefined) return {};
  const decision = policy === undefined ? undefined : await decide(policy, request);
  if (decision !== undefined) {
    record.note({ policyRule: `${decision.rule.path} (line ${decision.rule.line})`, decidedBy: "policy" });
    refuseRules(decision);
  }
  await requireWalls(config, request, decision);
  if (decision?.verdict === "confirm") await confirm(config, guards, request, decision, record);
  return decision?.limits ?? {};
}

/** What a terminal's sandbox is started with: what was asked for, and where the policy has a limit, the stricter. */
export function terminalLimits(asked: Limits, policy: PolicyLimits, { sandbox }: Config): Limits {
  const { timeoutMs: _time, outputBytes: _output, ...limits } = policy;
  const { outputBytes: _configured, ...configured } = sandbox.limits;
  const others: Limits = { ...configured, ...asked };
  const stricter = Object.entries(limits).map(([name, value]) => {
    const other = others[name as keyof Limits];
    return [name, other === undefined ? value : Math.min(value, other)] as const;
  });
  return { ...asked, ...Object.fromEntries(stricter) };
}

async function decide(policy: Policy, { argv, role }: TerminalRequest): Promise<Decision> {
  const { PolicyEngine } = await import("../policy/index.js");
  const request = { tool: TERMINAL_TOOL, role, ...(argv.length > 0 && { argv }) };
  return new PolicyEngine(policy).decide(request);
}

/** Refuses what is denied, and rules that would hold for what is typed: nobody could look at it. */
function refuseRules(decision: Decision): void {
  const denied = (message: string, hint: string) => new SandboxError("POLICY_DENIED", message, { hint });
  const { source } = decision.rule;
  if (decision.verdict === "deny") {
    throw denied(refusalLine(decision), "skerry policy explain says which rules had a say.");
  }
  const about = decision.hasCommandRules ? "commands" : decision.deniedPaths.length > 0 ? "paths" : undefined;
  if (about !== undefined) {
    throw denied(
      `denied by ${source}: it has rules about ${about}, and nothing could hold a terminal to them`,
      "Run single commands instead: skerry exec -- COMMAND",
    );
  }
  if (decision.maxRisk !== undefined) {
    throw denied(
      `denied by ${source}: it allows ${decision.maxRisk} risk at most, and nobody knows what will be typed`,
      "Run programs instead, which can be looked at first: skerry run FILE",
    );
  }
}

/** Whatever will be typed needs a real boundary, and no more network than the policy grants. */
async function requireWalls(
  { sandbox }: Config,
  { backend: named }: TerminalRequest,
  decision: Decision | undefined,
): Promise<void> {
  const [{ chooseBackend }, { defaultStateDirectory }] = await Promise.all([
    import("../manager/choose-backend.js"),
    import("../workspace/state-directory.js"),
  ]);
  const stateDir = expandHome(sandbox.stateDir ?? defaultStateDirectory());
  const { backend, probe } = await chooseBackend(named ?? sandbox.backend, stateDir, sandbox);
  if (!probe.capabilities.isolates) {
    throw new SandboxError(
      "BACKEND_TOO_WEAK",
      `The backend ${backend.name} has no walls, and nobody knows what will be typed`,
      { hint: "Leave --backend out: the best isolating one of this host is used." },
    );
  }
  if (decision?.network.access && probe.capabilities.network !== "per-host") {
    throw new SandboxError(
      "POLICY_UNENFORCEABLE",
      `The policy grants some of the network, and the backend ${backend.name} cannot tell one host from another`,
      { hint: "Change network_access in the policy." },
    );
  }
}

async function confirm(
  { sandbox }: Config,
  { confirmation }: OpenGuards,
  { argv, agentId = "", orgId = "", role = "", sessionId = "", signal }: TerminalRequest,
  { rule, why, limits }: Decision,
  record: TerminalRecord,
): Promise<void> {
  const { ConfirmationQueue } = await import("../confirmation/index.js");
  const { timeoutMs } = sandbox.confirmation;
  const outcome = await new ConfirmationQueue({ service: confirmation, timeoutMs }).request(
    {
      ...{ sessionId, agentId, orgId, role, tool: TERMINAL_TOOL, language: "bash" },
      code: terminalText(argv),
      riskLevel: "medium",
      findings: [],
      rule: { path: rule.path, source: rule.source, line: rule.line, why },
      limits: { ...limits },
    },
    { signal },
  );
  const decidedBy = outcome.by ?? "nobody";
  if (outcome.approved && !outcome.edited) {
    record.note({ confirmation: "approved", decidedBy });
    return;
  }
  record.note({ confirmation: outcome.approved ? "edited" : outcome.cause, decidedBy });
  signal.throwIfAborted();
  const reason = outcome.approved ? "a terminal cannot be edited" : outcome.reason;
  throw new SandboxError(
    "CONFIRMATION_REJECTED",
    `rejected: ${reason} (${ruleText(rule)} asks for a person)`,
  );
}

/** The terminal as the person who is asked and the audit log know it. */
export function terminalText(argv: readonly string[]): string {
  return argv.length === 0 ? "(a terminal)" : argv.join(" ");
}

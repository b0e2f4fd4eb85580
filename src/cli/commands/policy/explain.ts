import type { SecurityMode } from "../../../core/manager/index.js";
import { type Explanation, missingRole } from "../../../core/manager/index.js";
import { rankOf } from "../../../guard/analysis/index.js";
import type { Paint, Style } from "../../../guard/confirmation/index.js";
import {
  describeDecision,
  explainDecision,
  type Policy,
  PolicyEngine,
  type PolicyRequest,
} from "../../../guard/policy/index.js";
import { defined } from "../../../kit/defined.js";
import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe, escapeUnsafeLines } from "../../../kit/escape-unsafe.js";
import type { GlobalOptions } from "../../definition/index.js";
import { readOnlyProgram } from "../../input/index.js";
import { createManager, loadPolicyFile, policyFileOf, readConfig } from "../../open/index.js";
import { jsonText, paintFor, stdout } from "../../output/index.js";

export interface ExplainOptions extends GlobalOptions {
  readonly policy?: string;
  readonly role?: string;
  readonly tool?: string;
  readonly command?: string;
  readonly language?: string;
  readonly code?: string;
  readonly path?: readonly string[];
  readonly securityMode?: SecurityMode;
  readonly backend?: string;
  readonly json?: boolean;
}

const STYLES: Readonly<Record<Explanation["verdict"], Style>> = {
  allow: "green",
  confirm: "yellow",
  deny: "red",
};
/** More are listed elsewhere. */
const MAX_FINDINGS = 5;
const DENIED = new SandboxError("POLICY_DENIED", "").exitStatus;

/** A tool that runs nothing has neither code to look at nor walls to run behind. */
type Explained = Omit<Explanation, "requiredIsolation"> & Partial<Pick<Explanation, "requiredIsolation">>;

/** `skerry policy explain`: what would come of a call, by which rules. Nothing runs. */
export async function explainCall(words: readonly string[], options: ExplainOptions): Promise<number> {
  const config = await readConfig(options);
  const file = policyFileOf(config, options.policy);
  if (file === undefined) {
    throw new SandboxError("INVALID_ARGUMENT", "there is no policy to explain", {
      hint: "Add --policy FILE, or set sandbox.policy.file.",
    });
  }
  const request = await requestOf(words, { ...options, role: options.role ?? config.sandbox.policy.role });
  const policy = await loadPolicyFile(file);
  const { tool, role, language, code, command, paths = [] } = request;
  let explained: Explained;
  if (code === undefined && command === undefined) explained = await explainTool(request, policy);
  else {
    const { securityMode } = options;
    await using manager = await createManager(config, options, {
      policy,
      ...(securityMode !== undefined && { securityMode }),
    });
    explained = await manager.explain({ tool, role, language, code, command }, { paths });
  }
  await stdout.write(
    options.json
      ? `${jsonText(explanationJson(explained))}\n`
      : describeExplanation(explained, paintFor(stdout, options.color)),
  );
  return explained.verdict === "deny" ? DENIED : 0;
}

async function explainTool(request: PolicyRequest, policy: Policy): Promise<Explained> {
  const nameless = missingRole(policy, request.role);
  if (nameless !== undefined) return { verdict: "deny", why: nameless };
  const decision = await new PolicyEngine(policy).decide(request);
  return { verdict: decision.verdict, why: describeDecision(decision), decision };
}

/** The policy's decision, with what came of it in the end. */
function explanationJson(explained: Explained): Record<string, unknown> {
  const { verdict, why, decision, risk, securityMode, requiredIsolation, backend, obstacle } = explained;
  return {
    ...decision,
    verdict,
    asks: verdict === "confirm",
    why: decision?.verdict === verdict ? decision.why : why,
    ...(decision !== undefined && { policyVerdict: decision.verdict }),
    ...(risk !== undefined && { riskLevel: risk.level, findings: risk.findings }),
    ...defined({ securityMode, requiredIsolation, backend }),
    ...(obstacle !== undefined && { obstacle: obstacle.toJSON() }),
  };
}

async function requestOf(
  words: readonly string[],
  options: Omit<ExplainOptions, "role"> & { readonly role: string | undefined },
): Promise<PolicyRequest> {
  const { command, code, role, path = [] } = options;
  if (command !== undefined && (code !== undefined || words.length > 0)) {
    throw new SandboxError("INVALID_ARGUMENT", "give either --command or a program", {
      hint: "Give one of them.",
    });
  }
  const program = code !== undefined || words.length > 0 ? await readOnlyProgram(words, options) : undefined;
  const tool =
    options.tool ?? (program !== undefined ? "run_code" : command !== undefined ? "shell_exec" : undefined);
  if (tool === undefined) {
    throw new SandboxError("INVALID_ARGUMENT", "there is no call to explain", {
      hint: "Give --command TEXT, a program, or --tool NAME with --path.",
    });
  }
  const access = tool === "file_read" || tool === "file_list" ? "read" : "write";
  return {
    tool,
    role,
    ...(command !== undefined && { command }),
    ...(program !== undefined && { code: program.code, language: program.language.name }),
    paths: path.map((each) => ({ path: each, access })),
  };
}

/** The explanation for a person: the verdict in its colour, and what a confirmation means. */
function describeExplanation(explained: Explained, paint: Paint): string {
  const { verdict, why, decision, obstacle } = explained;
  const first = escapeUnsafe(why);
  const end = /^[a-z ]+(?=:| by )/.exec(first)?.[0].length ?? first.length;
  const lines = [paint(STYLES[verdict], first.slice(0, end)) + first.slice(end)];
  if (verdict === "confirm") lines.push("A person is asked before it runs; no answer means no.");
  if (obstacle !== undefined && verdict !== "deny")
    lines.push(`It could not start on this host: ${escapeUnsafe(obstacle.message)}`);
  // Without its own first line, which is there already where the policy decides.
  if (decision !== undefined)
    lines.push(...escapeUnsafeLines(explainDecision(decision)).split("\n").slice(1));
  return `${[...lines, ...riskLines(explained), ...wallLines(explained)].join("\n")}\n`;
}

function riskLines({ risk }: Explained): string[] {
  if (risk === undefined) return [];
  const shown = [...risk.findings]
    .sort((one, other) => rankOf(other.level) - rankOf(one.level))
    .slice(0, MAX_FINDINGS);
  const left = risk.findings.length - shown.length;
  return [
    "",
    "risk:",
    `  ${risk.level}${risk.findings.length === 0 ? ": nothing found" : ""}`,
    ...shown.map(
      ({ level, line, why, rule }) => `  ${level.padEnd(8)} line ${line}: ${escapeUnsafe(why)} [${rule}]`,
    ),
    ...(left > 0 ? [`  and ${left} more: skerry risk assess lists all`] : []),
  ];
}

function wallLines({ requiredIsolation, securityMode, backend, risk }: Explained): string[] {
  if (requiredIsolation === undefined || risk === undefined) return [];
  const where = backend === undefined ? "" : `; it runs in ${escapeUnsafe(backend)}`;
  return ["", "isolation:", `  at least ${requiredIsolation} isolation in ${securityMode} mode${where}`];
}

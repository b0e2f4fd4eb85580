import { SandboxError } from "../../errors.js";
import { type Decision, explainDecision, PolicyEngine, type PolicyRequest } from "../../policy/index.js";
import { visibleLines } from "../../visible.js";
import { type Paint, paintFor, type Style } from "../colour.js";
import { jsonText } from "../json-text.js";
import { loadPolicyFile, policyFileOf } from "../open-guards.js";
import { readConfig } from "../open-sandbox.js";
import type { GlobalOptions } from "../options.js";
import { stdout } from "../output.js";
import { readOnlyProgram } from "../program-source.js";

export interface ExplainOptions extends GlobalOptions {
  readonly policy?: string;
  readonly role?: string;
  readonly tool?: string;
  readonly command?: string;
  readonly language?: string;
  readonly code?: string;
  readonly path?: readonly string[];
  readonly json?: boolean;
}

const STYLES: Readonly<Record<Decision["verdict"], Style>> = {
  allow: "green",
  confirm: "yellow",
  deny: "red",
};
const DENIED = new SandboxError("POLICY_DENIED", "").exitStatus;

/** `skerry policy explain`: what a policy decides about a call, by which rules. Nothing runs. */
export async function explainCall(words: readonly string[], options: ExplainOptions): Promise<number> {
  const config = await readConfig(options);
  const file = policyFileOf(config, options.policy);
  if (file === undefined) {
    throw new SandboxError("INVALID_ARGUMENT", "there is no policy to explain", {
      hint: "Add --policy FILE, or set sandbox.policy.file.",
    });
  }
  const request = await requestOf(words, { ...options, role: options.role ?? config.sandbox.policy.role });
  const decision = await new PolicyEngine(await loadPolicyFile(file)).decide(request);
  await stdout.write(
    options.json ? `${jsonText(decision)}\n` : describeExplanation(decision, paintFor(stdout, options.color)),
  );
  return decision.verdict === "deny" ? DENIED : 0;
}

async function requestOf(
  words: readonly string[],
  options: Omit<ExplainOptions, "role"> & { readonly role: string | undefined },
): Promise<PolicyRequest> {
  const { command, code, role, path = [] } = options;
  if (command !== undefined && (code !== undefined || words.length > 0)) {
    throw new SandboxError("INVALID_ARGUMENT", "there are two calls: --command and a program", {
      hint: "Give one of them.",
    });
  }
  const program = code !== undefined || words.length > 0 ? await readOnlyProgram(words, options) : undefined;
  const tool =
    options.tool ?? (program !== undefined ? "code_run" : command !== undefined ? "shell_exec" : undefined);
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

/** The explanation for a person: the verdict in its colour, and what it means that somebody is asked. */
function describeExplanation(decision: Decision, paint: Paint): string {
  const [first = "", ...rest] = visibleLines(explainDecision(decision)).split("\n");
  const end = first.indexOf(" by ");
  const verdict = paint(STYLES[decision.verdict], first.slice(0, end)) + first.slice(end);
  const asked =
    decision.verdict === "confirm" ? ["A person is asked before it runs; no answer is a no."] : [];
  return `${[verdict, ...asked, ...rest].join("\n")}\n`;
}

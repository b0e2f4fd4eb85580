import { SandboxError } from "../../../kit/errors.js";
import type { GlobalOptions } from "../../definition/index.js";
import { askServer } from "../../open/index.js";
import { jsonText, paintFor, stderr, stdout } from "../../output/index.js";
import { approvalsIn, approvalText, parseApproval, type ShownApproval } from "./approval-text.js";

export interface ApprovalsOptions extends GlobalOptions {
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
  readonly scope?: string;
  readonly reason?: string;
}

/** Where a terminal does not say how wide it is, or there is none. */
const COLUMNS = 80;
const LEAST_COLUMNS = 20;
const ALREADY_DECIDED = 409;

/** `skerry approvals ls`. */
export async function list(options: ApprovalsOptions): Promise<number> {
  const { body } = await askServer(options, "GET", "/v1/approvals");
  const items = approvalsIn(body);
  if (options.json) await stdout.write(`${jsonText(items)}\n`);
  else if (items.length === 0) await stderr.write("nothing waits for a decision\n");
  else await show(items.map(parseApproval), options);
  return 0;
}

async function show(approvals: readonly ShownApproval[], { color }: ApprovalsOptions): Promise<void> {
  const columns = Math.max(LEAST_COLUMNS, process.stdout.columns || COLUMNS);
  const layout = { columns, paint: paintFor(stdout, color) };
  await stdout.write(approvals.map((each) => approvalText(each, layout)).join("\n"));
}

/** `skerry approvals approve`. */
export async function approve([id]: readonly string[], options: ApprovalsOptions): Promise<number> {
  return decide(id!, { decision: "approve", scope: options.scope }, options);
}

/** `skerry approvals reject`. */
export async function reject([id]: readonly string[], options: ApprovalsOptions): Promise<number> {
  return decide(id!, { decision: "reject", reason: options.reason }, options);
}

async function decide(id: string, answer: object, options: ApprovalsOptions): Promise<number> {
  const path = `/v1/approvals/${encodeURIComponent(id)}/decide`;
  const { status, body } = await askServer(options, "POST", path, answer, {
    alsoTaken: [ALREADY_DECIDED],
    hints: { NOT_FOUND: "List what waits with: skerry approvals ls" },
  });
  if (options.json) await stdout.write(`${jsonText(body)}\n`);
  if (status !== ALREADY_DECIDED) return 0;
  if (options.json) return new SandboxError("CONFLICT", "").exitStatus;
  const { decision = "decided", by } = outcomeOf(body);
  throw new SandboxError("CONFLICT", `It is ${decision} already${by === undefined ? "" : `, by ${by}`}`, {
    hint: "The first decision counts.",
  });
}

function outcomeOf(body: unknown): { readonly decision?: string; readonly by?: string } {
  return (body as { readonly approval?: { readonly outcome?: object } } | null)?.approval?.outcome ?? {};
}

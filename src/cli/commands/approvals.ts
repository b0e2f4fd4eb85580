import { SandboxError } from "../../errors.js";
import { visible, visibleLines } from "../../visible.js";
import { jsonText } from "../json-text.js";
import { localTime } from "../local-time.js";
import type { GlobalOptions } from "../options.js";
import { stderr, stdout } from "../output.js";
import { askServer } from "../server-request.js";

export interface ApprovalsOptions extends GlobalOptions {
  readonly url?: string;
  readonly key?: string;
  readonly json?: boolean;
  readonly scope?: string;
  readonly reason?: string;
}

/** What this command reads of an approval; whoever sent it is a server that we were told to ask. */
interface ShownApproval {
  readonly id: string;
  readonly expiresAt: string;
  readonly request: { readonly tool?: unknown; readonly code?: unknown; readonly riskLevel?: unknown };
  readonly outcome?: { readonly decision: string; readonly by?: string };
}

/** `skerry approvals ls`. */
export async function list(options: ApprovalsOptions): Promise<number> {
  const { body } = await askServer(options, "GET", "/v1/approvals");
  const { items } = body as { readonly items: readonly ShownApproval[] };
  if (options.json) await stdout.write(`${jsonText(items)}\n`);
  else if (items.length === 0) await stderr.write("nothing waits for a decision\n");
  else await stdout.write(items.map(describe).join("\n"));
  return 0;
}

/** `skerry approvals approve`. */
export async function approve([id]: readonly string[], options: ApprovalsOptions): Promise<number> {
  if (options.scope !== "once" && options.scope !== "session") {
    throw new SandboxError("INVALID_ARGUMENT", "--scope is once or session");
  }
  return decide(id!, { decision: "approve", scope: options.scope }, options);
}

/** `skerry approvals reject`. */
export async function reject([id]: readonly string[], options: ApprovalsOptions): Promise<number> {
  return decide(id!, { decision: "reject", reason: options.reason }, options);
}

async function decide(id: string, answer: object, options: ApprovalsOptions): Promise<number> {
  const path = `/v1/approvals/${encodeURIComponent(id)}/decide`;
  const { status, body } = await askServer(options, "POST", path, answer, [409]);
  const { approval } = body as { readonly approval: ShownApproval };
  if (options.json) await stdout.write(`${jsonText(body)}\n`);
  if (status !== 409) return 0;
  if (options.json) return new SandboxError("CONFLICT", "").exitStatus;
  const { decision = "decided", by } = approval.outcome ?? {};
  throw new SandboxError("CONFLICT", `It is ${decision} already${by === undefined ? "" : `, by ${by}`}`, {
    hint: "The first decision counts.",
  });
}

/** A few lines for a person. All text in it is an agent's. */
function describe({ id, expiresAt, request }: ShownApproval): string {
  const text = (value: unknown) => (typeof value === "string" ? value : "");
  const head = `${visible(id)}  ${visible(text(request.tool))}, risk ${visible(text(request.riskLevel))}, until ${localTime(expiresAt)}`;
  const code = visibleLines(text(request.code))
    .split("\n")
    .map((line) => `  | ${line}`);
  return `${head}\n${code.join("\n")}\n`;
}

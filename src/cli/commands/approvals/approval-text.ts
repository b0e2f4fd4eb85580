import { z } from "zod";
import { RISK_LEVELS } from "../../../guard/analysis/index.js";
import type { Paint } from "../../../guard/confirmation/index.js";
import { requestText } from "../../../guard/confirmation/index.js";
import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import { localTime } from "../../output/index.js";

const level = z.enum(RISK_LEVELS);
const finding = z.object({
  rule: z.string(),
  level,
  line: z.number(),
  column: z.number(),
  excerpt: z.string(),
  why: z.string(),
});
const moment = z.iso.datetime().transform((text) => new Date(text));
const approval = z.object({
  id: z.string(),
  createdAt: moment,
  expiresAt: moment,
  request: z.object({
    sessionId: z.string(),
    agentId: z.string(),
    orgId: z.string(),
    role: z.string(),
    tool: z.string(),
    language: z.string().optional(),
    code: z.string(),
    riskLevel: level,
    findings: z.array(finding),
    rule: z.object({ path: z.string(), source: z.string(), line: z.number(), why: z.string() }).optional(),
    surroundings: z.record(z.string(), z.string()).optional(),
    limits: z.record(z.string(), z.unknown()),
    backend: z.string().optional(),
  }),
});

/** What is asked of a person. */
export type ShownApproval = z.output<typeof approval>;

/** What a server says that waits, as it came. */
export function approvalsIn(body: unknown): readonly unknown[] {
  const { items } = (body ?? {}) as { readonly items?: unknown };
  if (Array.isArray(items)) return items;
  throw unreadable("Check SKERRY_URL or --url.");
}

/** Throws if a part cannot be shown: a person must not approve what they have not seen. */
export function parseApproval(item: unknown): ShownApproval {
  const parsed = approval.safeParse(item);
  if (parsed.success) return parsed.data;
  throw unreadable(
    "Check that the server has the same version. --json prints them as they are.",
    parsed.error,
  );
}

function unreadable(hint: string, cause?: unknown): SandboxError {
  return new SandboxError("SERVER_UNREACHABLE", "The server sent approvals that cannot be shown", {
    hint,
    cause,
  });
}

/** All that a person has to see before they decide, as the terminal's question shows it. Most text in it is an agent's. */
export function approvalText(
  { id, createdAt, expiresAt, request }: ShownApproval,
  layout: { readonly columns: number; readonly paint: Paint },
): string {
  const { tool, language, riskLevel } = request;
  const what = language === undefined ? tool : `${tool}, ${language}`;
  const head = `${escapeUnsafe(id)}  ${escapeUnsafe(what)}, risk ${riskLevel}, until ${localTime(expiresAt.toISOString())}`;
  const rows = requestText({ ...request, id, createdAt, expiresAt }, layout);
  return `${[layout.paint("bold", head), ...rows].join("\n")}\n`;
}

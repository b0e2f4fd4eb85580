import type { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { EmptyResultSchema, type RequestId } from "@modelcontextprotocol/sdk/types.js";
import type {
  ConfirmationAnswer,
  ConfirmationRequest,
  ConfirmationService,
  ConfirmOptions,
} from "../guard/confirmation/index.js";
import { requestText } from "../guard/confirmation/index.js";
import { escapeUnsafe } from "../kit/escape-unsafe.js";

const DECISIONS = {
  once: "approve once",
  session: "approve for this session",
  reject: "reject",
} as const;
const MAX_REASON_CHARACTERS = 500;
const MAX_NAME_CHARACTERS = 100;
const LONGEST_MS = 2 ** 31 - 1;

/** What the client's form has. Nothing but an explicit choice approves. */
const FORM = {
  type: "object" as const,
  properties: {
    decision: {
      type: "string" as const,
      title: "Decision",
      description: "For this session: the same code is not asked about again.",
      enum: [DECISIONS.reject, DECISIONS.once, DECISIONS.session],
      default: DECISIONS.reject,
    },
    reason: {
      type: "string" as const,
      title: "Reason",
      description: "If you reject it: the reason for the agent.",
      maxLength: MAX_REASON_CHARACTERS,
    },
  },
  required: ["decision"],
};

/** What came of a question to the person at a client: an answer, or why there is none. */
export type Elicited =
  | { readonly answer: ConfirmationAnswer & { readonly by: string } }
  | { readonly answer?: undefined; readonly why: string; readonly by: string };

export interface ElicitOptions extends ConfirmOptions {
  /** The client's request that this is about: over HTTP the question goes the way of its answer. */
  readonly relatedRequestId?: RequestId | undefined;
}

/** Asks the person at a client's end of the connection. Rejects when the answer is no longer needed. */
export async function elicit(
  server: Server,
  request: ConfirmationRequest,
  { signal, relatedRequestId }: ElicitOptions,
): Promise<Elicited> {
  const by = `mcp: ${clientName(server)}`;
  if (!canElicit(server)) return { why: NOBODY_TO_ASK, by };
  const message = approvalText(request);
  if (message === undefined) return { why: TOO_LONG, by };
  const options = { signal, ...(relatedRequestId !== undefined && { relatedRequestId }) };
  // The SDK's clients do not take back a request whose number is 0: that shall not be a question.
  await server.request({ method: "ping" }, EmptyResultSchema, options);
  signal.throwIfAborted();
  // The confirmation queue has the real timeout; this one only keeps the SDK's from being shorter.
  const timeout = Math.min(LONGEST_MS, Math.max(0, request.expiresAt.getTime() - Date.now()) + 10_000);
  const { action, content } = await server.elicitInput(
    { mode: "form", message, requestedSchema: FORM },
    { ...options, timeout },
  );
  if (action === "cancel") return { why: CLOSED, by };
  if (action === "accept" && content?.["decision"] === DECISIONS.once) {
    return { answer: { decision: "approve", scope: "once", by } };
  }
  if (action === "accept" && content?.["decision"] === DECISIONS.session) {
    return { answer: { decision: "approve", scope: "session", by } };
  }
  const given = content?.["reason"];
  const reason = typeof given === "string" && given.trim() !== "" ? escapeUnsafe(given) : REASONS[action];
  return { answer: { decision: "reject", reason, by } };
}

/** The same without another service to ask: no answer means no. */
export async function askByElicitation(
  server: Server,
  request: ConfirmationRequest,
  options: ElicitOptions,
): Promise<ConfirmationAnswer> {
  const elicited = await elicit(server, request, options);
  return elicited.answer ?? { decision: "reject", reason: elicited.why, by: elicited.by };
}

/** True: the client says that it can put a form before a person. */
export function canElicit(server: Server): boolean {
  return server.getClientCapabilities()?.elicitation?.form !== undefined;
}

/** What the client calls itself, in a form in which nothing acts or hides. */
export function clientName(server: Server): string {
  const name = server.getClientVersion()?.name.slice(0, MAX_NAME_CHARACTERS) || "unknown client";
  return escapeUnsafe(name).slice(0, MAX_NAME_CHARACTERS);
}

const REASONS = {
  accept: "The person rejected it and gave no reason",
  decline: "The person declined",
} as const;
const CLOSED = "The person closed the question without an answer";

const NOBODY_TO_ASK =
  "This needs a person's approval, and this MCP client cannot ask (no elicitation). Use a client " +
  "that can, allow it in the policy, or run it at a terminal with skerry run";
const TOO_LONG = "This needs a person's approval, and is too long to be shown. Split it into smaller parts";

/** Asks the one client of this process. */
export class ElicitationConfirmationService implements ConfirmationService {
  readonly name = "elicitation";
  #server: Server | undefined;

  /** Whose client is asked from now on. */
  attach(server: Server): void {
    this.#server = server;
  }

  async confirm(request: ConfirmationRequest, options: ConfirmOptions): Promise<ConfirmationAnswer> {
    if (this.#server === undefined) return { decision: "reject", reason: NOBODY_TO_ASK };
    return askByElicitation(this.#server, request, options);
  }
}

const COLUMNS = 96;
/** More than a person reads in a dialogue. */
const MAX_CHARACTERS = 30_000;

/**
 * What a person is shown before they decide: the whole code and what we know about it. Undefined: it is too long for that, and
 * a person must not approve what they have not seen.
 */
function approvalText(request: ConfirmationRequest): string | undefined {
  const { tool, language, riskLevel, findings, expiresAt } = request;
  const found = findings.length === 1 ? "1 finding" : `${findings.length} findings`;
  const what = language === undefined ? tool : `${tool}, ${language}`;
  const lines = [
    `An agent needs your approval. Risk: ${riskLevel.toUpperCase()}, ${found}. Tool: ${what}.`,
    `Without an answer by ${expiresAt.toISOString().slice(11, 19)} UTC it is rejected.`,
  ];
  let characters = 0;
  for (const row of requestText(request, { columns: COLUMNS, paint: (_, text) => text })) {
    characters += row.length;
    if (characters > MAX_CHARACTERS) return undefined;
    // Indented so far, a client that renders Markdown shows it as it is: no link, no picture, no heading.
    lines.push(row === "" ? "" : `    ${row}`);
  }
  return lines.join("\n");
}

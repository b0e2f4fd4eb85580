import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { ConfirmationAnswer } from "../../guard/confirmation/index.js";
import { checkCodeSize } from "../../kit/code-limits.js";
import { SandboxError } from "../../kit/errors.js";
import type { ApprovalEvent } from "../approvals/index.js";
import type { App } from "../http/index.js";
import {
  approval,
  jsonOf,
  ManagedSocket,
  replies,
  toMoment,
  upgradeRequired,
  WEB_SOCKET,
} from "../http/index.js";
import type { Services } from "../services.js";
import type { ApprovalOutcome, ApprovalRecord } from "../store/index.js";

const answer = z.discriminatedUnion("decision", [
  z.strictObject({ decision: z.literal("approve"), scope: z.enum(["once", "session"]).default("once") }),
  z.strictObject({ decision: z.literal("edit"), code: z.string().min(1) }),
  z.strictObject({ decision: z.literal("reject"), reason: z.string().max(2000).optional() }),
]);
const decided = z.object({
  accepted: z
    .boolean()
    .describe("False: it was decided before, or had expired. `approval` has the decision that counts."),
  approval,
});
const message = z.strictObject({ type: z.literal("decide"), id: z.string().min(1).max(200), answer });

/** What waits for a person, and deciding it. */
export function addApprovalRoutes(app: App, services: Services): void {
  const { approvals } = services;

  app.get(
    "/v1/approvals",
    {
      schema: {
        summary: "What waits for a decision, the oldest first.",
        response: replies(z.object({ items: z.array(approval) })),
      },
    },
    async ({ key }) => ({ items: (await approvals.listPending(key.org)).map(toReply) }),
  );

  app.post(
    "/v1/approvals/:id/decide",
    {
      schema: {
        summary: "Approve, edit or reject. The first decision counts.",
        params: z.object({ id: z.string().min(1).max(200) }),
        body: answer,
        response: { ...replies(decided), 409: decided },
      },
    },
    async (request, reply) => {
      const told = await decide(services, request, request.params.id, request.body);
      return reply.code(told.accepted ? 200 : 409).send(told);
    },
  );

  app.route({
    method: "GET",
    url: "/v1/approvals/stream",
    config: { socket: true },
    schema: {
      summary: "A WebSocket: everything that is pending, then every change; also takes decisions.",
      "x-answers": WEB_SOCKET,
      description:
        'Sends {"type":"pending","approvals":[…]}, {"type":"requested","approval":{…}}, {"type":"decided","id":…,' +
        '"outcome":{…}}, {"type":"answer","id":…,"accepted":…,"approval":{…}} and {"type":"error",…}; takes ' +
        '{"type":"decide","id":…,"answer":{"decision":"approve"}}.',
    },
    handler: async () => {
      throw upgradeRequired();
    },
    wsHandler: (socket, request) => void watch(services, new ManagedSocket(socket, request), request),
  });
}

/** Tells one watcher of everything, and takes its decisions. */
async function watch(services: Services, socket: ManagedSocket, request: FastifyRequest): Promise<void> {
  const { approvals } = services;
  const { org } = request.key;
  // Changes that come while the list is read are told after it, and nothing twice.
  const early: ApprovalEvent[] = [];
  const told = new Set<string>();
  let tell = (event: ApprovalEvent): void => {
    early.push(event);
  };
  const tellOnce = (event: ApprovalEvent): void => {
    if (event.type === "requested") {
      if (told.has(event.approval.id)) return;
      told.add(event.approval.id);
      socket.tell({ type: "requested", approval: toReply(event.approval) });
    } else if (told.delete(event.id)) {
      socket.tell({ type: "decided", id: event.id, outcome: toOutcome(event.outcome) });
    }
  };
  socket.onClose(approvals.watch(org, (event) => tell(event)));
  socket.onMessage(async (data) => {
    const { id, answer: given } = parseMessage(String(data));
    socket.tell({ type: "answer", id, ...(await decide(services, request, id, given)) });
  });
  try {
    const pending = await approvals.listPending(org);
    socket.tell({ type: "pending", approvals: pending.map(toReply) });
    for (const { id } of pending) told.add(id);
    for (const event of early) tellOnce(event);
    tell = tellOnce;
  } catch (error) {
    socket.fail(error);
    socket.close(1011, "what is pending could not be read");
  }
}

function parseMessage(text: string): z.output<typeof message> {
  const parsed = message.safeParse(jsonOf(text));
  if (parsed.success) return parsed.data;
  throw new SandboxError("INVALID_ARGUMENT", "This message is not valid", {
    hint: 'Send {"type":"decide","id":"…","answer":{"decision":"approve"}}.',
  });
}

async function decide(
  { approvals }: Services,
  { key }: FastifyRequest,
  id: string,
  given: z.output<typeof answer>,
): Promise<z.output<typeof decided>> {
  if (given.decision === "edit") checkCodeSize(given.code);
  const told = await approvals.decide(key.org, id, given as ConfirmationAnswer, `key:${key.id}`);
  if (told !== undefined) return { accepted: told.accepted, approval: toReply(told.approval) };
  throw new SandboxError("NOT_FOUND", "There is no such request", { hint: "GET /v1/approvals lists them." });
}

function toReply(record: ApprovalRecord): z.output<typeof approval> {
  const { id, session: sessionUid, createdAt, expiresAt, outcome } = record;
  const request = record.request as { readonly sessionId?: string };
  return {
    id,
    createdAt: toMoment(createdAt),
    expiresAt: toMoment(expiresAt),
    request,
    ...(sessionUid !== undefined && { sessionUid }),
    ...(request.sessionId !== undefined && { sessionId: request.sessionId }),
    ...(outcome !== undefined && { outcome: toOutcome(outcome) }),
  };
}

function toOutcome({ decision, by, at }: ApprovalOutcome) {
  return { decision, at: toMoment(at), ...(by !== undefined && { by }) };
}

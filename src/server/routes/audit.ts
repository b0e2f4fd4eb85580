import { z } from "zod";
import { AUDIT_RESULTS, type AuditRecord, queryAudit } from "../../guard/audit/index.js";
import { defined } from "../../kit/defined.js";
import { SandboxError } from "../../kit/errors.js";
import type { App } from "../http/index.js";
import { moment, ofSession, pageOf, pageQuery, replies, sessionFilter, toMoment } from "../http/index.js";
import type { Services } from "../services.js";
import { sessionsOf, uidOf } from "../sessions/index.js";
import type { AuditEntry } from "../store/index.js";

const record = z.record(z.string(), z.unknown()).describe("docs/audit.md has every key.");

const entry = z
  .object({
    server: z.string().describe("The server in whose log the record is."),
    seq: z.number().describe("Its number there."),
    ...ofSession,
    eventType: z.string(),
    tool: z.string().optional(),
    result: z.string().optional(),
    at: moment,
  })
  .meta({ id: "AuditEntry" });
const filters = {
  sessionId: sessionFilter,
  tool: z.string().max(200).optional(),
  result: z.enum(AUDIT_RESULTS).optional(),
  eventType: z.string().max(100).optional(),
  since: moment.optional().describe("Not before this."),
  until: moment.optional().describe("Before this."),
};

/** What the org's callers did. The record is the log's; the log itself is verified on its host. */
export function addAuditRoutes(app: App, { auditDirectory, store, lease }: Services): void {
  app.get(
    "/v1/audit/index",
    {
      schema: {
        summary: "Where the org's audit records are, over all servers, the latest first.",
        description:
          "A few seconds behind the logs. It also says what was in the log of a server that is gone.",
        querystring: pageQuery.extend(filters),
        response: replies(pageOf(entry)),
      },
    },
    async ({ key, query: { sessionId, since, until, ...query } }) => {
      const { items, next } = await store.audit.query(key.org, {
        ...query,
        session: await uidOf(store, key.org, sessionId),
        since: since === undefined ? undefined : Date.parse(since),
        until: until === undefined ? undefined : Date.parse(until),
      });
      const ids = await sessionsOf(store, key.org, items);
      return { items: items.map((item) => ({ ...ids(item), ...toEntry(item) })), next };
    },
  );

  app.get(
    "/v1/audit",
    {
      schema: {
        summary: "The org's audit records in one server's log, the latest first.",
        querystring: pageQuery.extend({
          ...filters,
          agent: z.string().max(200).optional(),
          server: z
            .string()
            .max(100)
            .optional()
            .describe("Whose log; left out: of the server that is asked."),
        }),
        response: replies(pageOf(record)),
      },
    },
    async ({ key, query: { limit, cursor, sessionId, server = lease.server, ...filter } }) => {
      if (server !== lease.server) {
        throw new SandboxError("NOT_FOUND", "There is no such server", {
          hint: "GET /v1/audit/index says which server has which record. The log of one that is gone is on its host.",
        });
      }
      if (auditDirectory === undefined) {
        throw new SandboxError("NOT_FOUND", "This server keeps no audit log", {
          hint: "Set sandbox.audit.enabled to true.",
        });
      }
      const before = cursor === undefined ? Number.POSITIVE_INFINITY : parseCursor(cursor);
      const session = await uidOf(store, key.org, sessionId);
      const named = Object.entries({ ...filter, session }).filter(([, value]) => value !== undefined);
      const found: AuditRecord[] = [];
      const query = { ...Object.fromEntries(named), org: key.org, reverse: true };
      for await (const each of queryAudit(auditDirectory, query)) {
        if (each.seq >= before) continue;
        found.push(each);
        // One more shows whether there is another page.
        if (found.length > limit) break;
      }
      const items = found.slice(0, limit);
      return { items: items.map(toReply), ...(found.length > limit && { next: String(items.at(-1)!.seq) }) };
    },
  );
}

function toEntry({ log, seq, eventType, tool, result, at }: AuditEntry): z.output<typeof entry> {
  return {
    server: log,
    seq,
    eventType,
    at: toMoment(at),
    ...defined({ tool, result }),
  };
}

/** Which process of which machine wrote it is this host's business. */
function toReply({ host: _, pid: __, ...rest }: AuditRecord): Record<string, unknown> {
  return rest;
}

function parseCursor(text: string): number {
  if (/^[1-9]\d{0,15}$/.test(text)) return Number(text);
  throw new SandboxError("INVALID_ARGUMENT", "The cursor is not from a page of this list", {
    hint: "Take `next` of the page before as it is, or leave the cursor out.",
  });
}

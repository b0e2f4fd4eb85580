import { z } from "zod";
import { HandleSnapshots, toSnapshot } from "../../core/manager/index.js";
import type { SnapshotInfo } from "../../runtime/workspace/index.js";
import type { App } from "../http/index.js";
import {
  acceptStreams,
  bodyStream,
  ofSession,
  orCutOff,
  pageOf,
  pageQuery,
  replies,
  sendStream,
  sessionId,
  sessionParams,
  session as sessionSchema,
  snapshot,
  toMoment,
  ttlMs,
} from "../http/index.js";
import type { Services } from "../services.js";
import { inSession, sessionsOf } from "../sessions/index.js";
import type { IndexedSnapshot, Json, SessionRecord } from "../store/index.js";
import { toSessionReply } from "./sessions.js";

const TAR = "application/x-tar";
/** A fork that was interrupted keeps its name this long. */
const FORKING_MS = 15 * 60_000;
const snapshotParams = sessionParams.extend({ id: z.string().min(1).max(200) });
const snapshotName = z.string().min(1).max(200);

/** A session's files as they were: taken, brought back, carried elsewhere. */
export function addSnapshotRoutes(app: App, services: Services): void {
  const { manager, sessions, store } = services;
  acceptStreams(app, TAR);

  app.post(
    "/v1/sessions/:sessionId/snapshots",
    {
      schema: {
        summary: "Keep the session's files as they are now.",
        body: z.strictObject({ name: snapshotName.optional() }).prefault({}),
        response: replies(snapshot, 201),
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ session, caller, signal }) => {
        const taken = await new HandleSnapshots(manager, { ...caller, signal }).create(request.body);
        await indexSnapshots(services, session);
        return reply.code(201).send(taken);
      }),
  );

  app.get(
    "/v1/sessions/:sessionId/snapshots",
    {
      schema: {
        summary: "List the session's snapshots, the newest first.",
        response: replies(z.object({ items: z.array(snapshot) })),
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ session }) => ({
        items: (await indexSnapshots(services, session)).map(toSnapshot),
      })),
  );

  app.get(
    "/v1/snapshots",
    {
      schema: {
        summary: "List the snapshots of all the org's sessions, the newest first.",
        description: "From an index: a session's own list has what was taken by other means.",
        querystring: pageQuery,
        response: replies(pageOf(snapshot.extend(ofSession).meta({ id: "ListedSnapshot" }))),
      },
    },
    async ({ key, query }) => {
      const { items, next } = await store.snapshots.list(key.org, query);
      const ids = await sessionsOf(store, key.org, items);
      return { items: items.map((item) => ({ ...ids(item), ...toListed(item) })), next };
    },
  );

  app.delete(
    "/v1/sessions/:sessionId/snapshots/:id",
    {
      schema: {
        summary: "Delete a snapshot.",
        params: snapshotParams,
        response: replies(z.object({ deleted: z.literal(true) })),
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ session, caller, signal }) => {
        const snapshots = new HandleSnapshots(manager, { ...caller, signal });
        await snapshots.delete(request.params.id).finally(() => indexSnapshots(services, session));
        return { deleted: true } as const;
      }),
  );

  app.post(
    "/v1/sessions/:sessionId/snapshots/:id/restore",
    {
      schema: {
        summary: "Make the session's files what they were.",
        params: snapshotParams,
        response: replies(
          z.object({
            written: z.number(),
            removed: z.number(),
            unchanged: z.number(),
            skipped: z.array(z.object({ path: z.string(), reason: z.string() })),
          }),
        ),
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ caller, signal }) => {
        const snapshots = new HandleSnapshots(manager, { ...caller, signal });
        const { skipped, ...counts } = await snapshots.restore(request.params.id);
        return { ...counts, skipped: [...skipped] };
      }),
  );

  app.get(
    "/v1/sessions/:sessionId/snapshots/:id/export",
    {
      schema: {
        summary: "Download a snapshot as an uncompressed tar.",
        params: snapshotParams,
        "x-answers": TAR,
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ caller, signal }) => {
        const { id } = request.params;
        const snapshots = new HandleSnapshots(manager, { ...caller, signal });
        return orCutOff(request, reply, signal, () =>
          snapshots.exportInto(id, (archive) =>
            sendStream(reply, archive, { type: TAR, name: `${id}.tar`, signal }),
          ),
        );
      }),
  );

  app.post(
    "/v1/sessions/:sessionId/snapshots/import",
    {
      schema: {
        summary: "Make a snapshot of an uncompressed tar.",
        querystring: z.strictObject({ name: snapshotName.optional() }),
        "x-takes": TAR,
        response: replies(snapshot, 201),
      },
    },
    async (request, reply) => {
      const archive = bodyStream(request.body, TAR);
      try {
        return await inSession(services, request, reply, async ({ session, caller, signal }) => {
          const snapshots = new HandleSnapshots(manager, { ...caller, signal });
          const imported = await snapshots.import(archive, request.query);
          await indexSnapshots(services, session);
          return reply.code(201).send(imported);
        });
      } finally {
        archive.destroy();
      }
    },
  );

  app.post(
    "/v1/sessions/:sessionId/fork",
    {
      schema: {
        summary: "Make a new session with the files of now, or of a snapshot.",
        body: z
          .strictObject({
            sessionId: sessionId.optional(),
            snapshotId: z.string().min(1).max(200).optional(),
            ttlMs: ttlMs.optional(),
          })
          .prefault({}),
        response: replies(sessionSchema, 201),
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ session, caller, signal }) => {
        const { sessionId: name, snapshotId, ttlMs: lifeMs } = request.body;
        const { session: made } = await sessions.create(session.org, {
          name,
          role: session.role,
          settings: caller.backend === undefined ? {} : { backend: caller.backend },
          ttlMs: FORKING_MS,
        });
        try {
          await new HandleSnapshots(manager, { ...caller, signal }).fork(made.id, snapshotId);
          const whole = await sessions.renew(session.org, made.name, lifeMs);
          return await reply.code(201).send(toSessionReply(whole));
        } catch (error) {
          // A session without its files is none.
          if ((await store.sessions.getById(session.org, made.id))?.state === "active")
            await sessions.end(session.org, made.name, "failed");
          throw error;
        }
      }),
  );
}

function toListed({ id, createdAt, info }: IndexedSnapshot): z.output<typeof snapshot> {
  const { name, files, bytes } = info as { name?: string; files: number; bytes: number };
  return { id, createdAt: toMoment(createdAt), files, bytes, ...(name !== undefined && { name }) };
}

/** Brings the store's list of a session's snapshots up to date with its files. */
async function indexSnapshots(
  { store, manager }: Pick<Services, "store" | "manager">,
  { org, id: session }: Pick<SessionRecord, "org" | "id">,
): Promise<readonly SnapshotInfo[]> {
  const there = manager.hasSession(session) ? await manager.snapshots(session).list() : [];
  const listed = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const page = await store.snapshots.list(org, { session, limit: 1000, cursor });
    for (const { id } of page.items) listed.add(id);
    if (page.next === undefined) break;
    cursor = page.next;
  }
  for (const { id, name, createdAt, files, bytes } of there) {
    if (listed.delete(id)) continue;
    const info: Json = { name, files, bytes };
    await store.snapshots.put(org, { id, session, createdAt: createdAt.getTime(), info });
  }
  for (const id of listed) await store.snapshots.remove(org, session, id);
  return there;
}

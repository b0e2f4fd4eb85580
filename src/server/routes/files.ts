import type { FastifyRequest } from "fastify";
import { z } from "zod";
import type { FileCall, TouchedPath } from "../../core/manager/index.js";
import { everythingAt, workValue } from "../../core/manager/index.js";
import { SandboxError } from "../../kit/errors.js";
import type { Entry } from "../../runtime/workspace/index.js";
import { parseInnerPath, parseRelativePath } from "../../runtime/workspace/index.js";
import type { App } from "../http/app.js";
import { sendStream } from "../http/downloads.js";
import { logError } from "../http/error-reply.js";
import { cursor, fileEntry, pageOf, pageQuery, replies, sessionParams, toMoment } from "../http/schemas.js";
import { acceptStreams, bodyStream } from "../http/uploads.js";
import type { Services } from "../services.js";
import { inSession } from "../sessions/session-calls.js";

const BYTES = "application/octet-stream";
const fileParams = sessionParams.extend({ "*": z.string().min(1) });
const path = z.string().min(1).max(4096).describe("Relative to the workspace.");
const done = z.object({ path: z.string() });
const flag = z.enum(["true", "false"]).default("false");

/** A session's files, streamed both ways. Each is a tool call: decided about and remembered. */
export function addFileRoutes(app: App, services: Services): void {
  const { manager } = services;
  acceptStreams(app, BYTES);

  app.get(
    "/v1/sessions/:name/files",
    {
      schema: {
        summary: "List a directory, by path.",
        querystring: pageQuery.extend({
          path: path.default("."),
          recursive: flag,
          cursor: cursor.optional(),
        }),
        response: replies(
          pageOf(fileEntry).extend({
            truncated: z
              .literal(true)
              .optional()
              .describe(
                "There are more than 10,000 entries: some are on no page. List its directories one by one.",
              ),
          }),
        ),
      },
    },
    async (request, reply) =>
      inSession(services, request, reply, async ({ caller, signal }) => {
        const { query } = request;
        const directory = parseRelativePath(query.path).text || ".";
        const listed = await manager.useFiles({
          ...caller,
          signal,
          tool: "file_list",
          summary: `list ${directory}`,
          paths: [reads(directory)],
          work: async ({ files, maySee }) => {
            const found = await files.scan(directory, { recursive: query.recursive === "true" });
            return { ...found, entries: found.entries.filter((entry) => maySee(entry.path)) };
          },
        });
        const { entries, truncated } = workValue(listed);
        return { ...toPage(entries, query), ...(truncated && { truncated }) };
      }),
  );

  app.get(
    "/v1/sessions/:name/files/*",
    { schema: { summary: "Download a file.", params: fileParams, "x-answers": BYTES } },
    async (request, reply) =>
      inSession(services, request, reply, async ({ caller, signal }) => {
        const file = pathOf(request);
        try {
          const result = await manager.useFiles({
            ...caller,
            signal,
            tool: "file_read",
            summary: `read ${file}`,
            paths: [reads(file)],
            work: async ({ files }) => {
              const stream = await files.readStream(file);
              await sendStream(reply, stream, { type: BYTES, name: file.split("/").at(-1)!, signal });
            },
          });
          workValue(result);
        } catch (error) {
          if (!reply.sent) throw error;
          if (!signal.aborted) logError(request, error);
          reply.raw.destroy();
        }
        return reply;
      }),
  );

  /** Does something that writes, and answers with the path. */
  const change = async (
    request: FastifyRequest,
    reply: Parameters<typeof inSession>[2],
    call: Pick<FileCall<void>, "tool" | "summary" | "paths" | "work" | "content" | "isPlaced">,
    file: string,
  ) =>
    inSession(services, request, reply, async ({ caller, signal }) => {
      workValue(await manager.useFiles({ ...caller, signal, ...call }));
      return { path: file };
    });

  app.put(
    "/v1/sessions/:name/files/*",
    {
      schema: {
        summary: "Upload a file: whole or not at all. Missing directories are made.",
        params: fileParams,
        "x-takes": BYTES,
        response: replies(done),
      },
    },
    async (request, reply) => {
      const file = pathOf(request);
      const content = { [file]: bodyStream(request.body, BYTES) };
      // Whether it was there before is not known by now.
      const work: FileCall<void>["work"] = async ({ changed }) => changed(file, "modified");
      const call = { tool: "file_write", summary: `write ${file}`, paths: [writes(file)], content, work };
      return change(request, reply, { ...call, isPlaced: true }, file).finally(() =>
        content[file]?.destroy(),
      );
    },
  );

  app.delete(
    "/v1/sessions/:name/files/*",
    {
      schema: {
        summary: "Delete a file, or with `recursive` a directory and all that is in it.",
        params: fileParams,
        querystring: z.strictObject({ recursive: flag }),
        response: replies(done),
      },
    },
    async (request, reply) => {
      const file = pathOf(request);
      const recursive = request.query.recursive === "true";
      const call: Parameters<typeof change>[2] = {
        tool: "file_delete",
        summary: `remove ${file}${recursive ? " and everything in it" : ""}`,
        paths: [writes(file)],
        work: async (guarded) => {
          const { files, changed } = guarded;
          const gone = recursive ? await everythingAt(file, guarded) : [file];
          await files.remove(file, { recursive });
          for (const each of gone) changed(each, "deleted");
        },
      };
      return change(request, reply, call, file);
    },
  );

  app.post(
    "/v1/sessions/:name/files/mkdir",
    {
      schema: {
        summary: "Make a directory and those above it.",
        body: z.strictObject({ path }),
        response: replies(done),
      },
    },
    async (request, reply) => {
      const directory = parseInnerPath(request.body.path).text;
      const work: FileCall<void>["work"] = async ({ files, changed }) => {
        await files.mkdir(directory);
        changed(directory, "created");
      };
      const call = { tool: "file_write", summary: `make ${directory}`, paths: [writes(directory)], work };
      return change(request, reply, call, directory);
    },
  );

  app.post(
    "/v1/sessions/:name/files/move",
    {
      schema: {
        summary: "Give a file or a directory another path, where nothing is.",
        body: z.strictObject({ from: path, to: path }),
        response: replies(done),
      },
    },
    async (request, reply) => {
      const [from, to] = [parseInnerPath(request.body.from).text, parseInnerPath(request.body.to).text];
      const work: FileCall<void>["work"] = async (guarded) => {
        const { files, changed } = guarded;
        // A directory would take along what the policy keeps back.
        const moved = await everythingAt(from, guarded);
        await files.move(from, to);
        for (const each of moved) {
          changed(each, "deleted");
          changed(to + each.slice(from.length), "created");
        }
      };
      const paths = [reads(from), writes(from), writes(to)];
      return change(
        request,
        reply,
        { tool: "file_write", summary: `move ${from} to ${to}`, paths, work },
        to,
      );
    },
  );
}

function pathOf(request: FastifyRequest): string {
  return parseInnerPath((request.params as { readonly "*": string })["*"]).text;
}

function reads(file: string): TouchedPath {
  return { path: file, access: "read" };
}

function writes(file: string): TouchedPath {
  return { path: file, access: "write" };
}

/** What comes after the path that the cursor holds, whatever has come and gone since. */
function toPage(
  entries: readonly Entry[],
  query: { readonly limit: number; readonly cursor?: string | undefined },
) {
  const after = query.cursor === undefined ? undefined : parseCursor(query.cursor);
  const rest = after === undefined ? entries : entries.filter((entry) => entry.path > after);
  const items = rest.slice(0, query.limit).map(({ path: file, type, size, mode, modifiedMs }) => ({
    path: file,
    type,
    size,
    mode,
    modifiedAt: toMoment(modifiedMs),
  }));
  const last = items.at(-1);
  return {
    items,
    ...(rest.length > items.length &&
      last !== undefined && { next: Buffer.from(last.path).toString("base64url") }),
  };
}

function parseCursor(text: string): string {
  const decoded = Buffer.from(text, "base64url");
  if (decoded.toString("base64url") === text) return decoded.toString("utf8");
  throw new SandboxError("INVALID_ARGUMENT", "The cursor is not from a page of this list", {
    hint: "Take `next` of the page before as it is, or leave the cursor out.",
  });
}

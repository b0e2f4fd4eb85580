import type { FastifyReply, FastifyRequest } from "fastify";
import { z } from "zod";
import { HandleFiles } from "../../core/manager/index.js";
import { SandboxError } from "../../kit/errors.js";
import type { Entry } from "../../runtime/workspace/index.js";
import { parseInnerPath } from "../../runtime/workspace/index.js";
import type { App } from "../http/index.js";
import {
  acceptStreams,
  bodyStream,
  cursor,
  fileEntry,
  orCutOff,
  pageOf,
  pageQuery,
  replies,
  sendStream,
  sessionParams,
  toMoment,
} from "../http/index.js";
import type { Services } from "../services.js";
import { inSession } from "../sessions/index.js";

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
    "/v1/sessions/:sessionId/files",
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
        const files = new HandleFiles(manager, { ...caller, signal });
        const { entries, truncated } = await files.scan(query.path, query.recursive === "true");
        return { ...toPage(entries, query), ...(truncated && { truncated }) };
      }),
  );

  app.get(
    "/v1/sessions/:sessionId/files/*",
    { schema: { summary: "Download a file.", params: fileParams, "x-answers": BYTES } },
    async (request, reply) =>
      inSession(services, request, reply, async ({ caller, signal }) => {
        const file = pathOf(request);
        const files = new HandleFiles(manager, { ...caller, signal });
        return orCutOff(request, reply, signal, () =>
          files.readInto(file, (content) =>
            sendStream(reply, content, { type: BYTES, name: file.split("/").at(-1)!, signal }),
          ),
        );
      }),
  );

  /** Does something that writes, and answers with the path. */
  const change = (
    request: FastifyRequest,
    reply: FastifyReply,
    file: string,
    work: (files: HandleFiles) => Promise<void>,
  ) =>
    inSession(services, request, reply, async ({ caller, signal }) => {
      await work(new HandleFiles(manager, { ...caller, signal }));
      return { path: file };
    });

  app.put(
    "/v1/sessions/:sessionId/files/*",
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
      const content = bodyStream(request.body, BYTES);
      return change(request, reply, file, (files) => files.write(file, content)).finally(() =>
        content.destroy(),
      );
    },
  );

  app.delete(
    "/v1/sessions/:sessionId/files/*",
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
      return change(request, reply, file, (files) => files.remove(file, { recursive }));
    },
  );

  app.post(
    "/v1/sessions/:sessionId/files/mkdir",
    {
      schema: {
        summary: "Make a directory and those above it.",
        body: z.strictObject({ path }),
        response: replies(done),
      },
    },
    async (request, reply) => {
      const directory = parseInnerPath(request.body.path).text;
      return change(request, reply, directory, (files) => files.mkdir(directory));
    },
  );

  app.post(
    "/v1/sessions/:sessionId/files/move",
    {
      schema: {
        summary: "Give a file or a directory another path, where nothing is.",
        body: z.strictObject({ from: path, to: path }),
        response: replies(done),
      },
    },
    async (request, reply) => {
      const [from, to] = [parseInnerPath(request.body.from).text, parseInnerPath(request.body.to).text];
      return change(request, reply, to, (files) => files.move(from, to));
    },
  );
}

function pathOf(request: FastifyRequest): string {
  return parseInnerPath((request.params as { readonly "*": string })["*"]).text;
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

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from "fastify";
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import type { ServerConfig } from "../../core/config/index.js";
import { SandboxError } from "../../kit/errors.js";
import { expandHome } from "../../kit/expand-home.js";
import { replyWithError, toErrorBody } from "./error-reply.js";
import { type LogStream, logOptions } from "./log.js";

/** What routes are added to. A content type that one file of routes accepts is not accepted by the others. */
export type App = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** What every reply of the API has. */
export const API_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;
/** The request ids that a client may choose: they stand in logs and audit records. */
const REQUEST_ID = /^[\w.:-]{1,128}$/;
const MAX_PARAMETER_CHARACTERS = 2048;

/** A fastify instance without routes: its limits, its log, its errors, and JSON as the only content type. */
export function createApp({ limits, logs, tls }: ServerConfig, log: LogStream | undefined) {
  const app = fastify({
    logger: log === undefined ? false : logOptions(logs.level, log),
    // We log requests ourselves, without their addresses: those contain a client's text.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "requestId" }),
    requestIdHeader: false,
    genReqId: ({ headers }: IncomingMessage) => {
      const given = headers["x-request-id"];
      return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
    },
    bodyLimit: limits.bodyBytes,
    // An upload may take any time; one that stalls uses up its own key's concurrency only.
    requestTimeout: 0,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_CHARACTERS },
    // These errors come before any hook.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      replyWithError(error, request, reply.headers({ ...API_HEADERS, "x-request-id": request.id })),
    clientErrorHandler: replyToMalformedRequest,
    // Without this fastify loads compilers of its own, which takes as long as all the rest of it.
    schemaController: {
      compilersFactory: {
        buildValidator: () => validatorCompiler,
        buildSerializer: () => serializerCompiler,
      },
    },
    ...(tls !== undefined && { https: readTls(tls) }),
  } as object).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler(replyWithError);
  acceptJsonOnly(app);
  return app;
}

/** No forms and no text: a page of another origin can send those without a preflight request. */
function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "string" },
    app.getDefaultJsonParser("error", "error"),
  );
}

function readTls({ cert, key }: { readonly cert: string; readonly key: string }) {
  try {
    const files = { cert: readFileSync(expandHome(cert)), key: readFileSync(expandHome(key)) };
    // Says at once when they are no certificate and its key.
    createSecureContext(files);
    return { ...files, minVersion: "TLSv1.2" };
  } catch (cause) {
    const { path, code } = cause as { readonly path?: string; readonly code?: string };
    const which = path === undefined ? `${cert} with ${key}` : `${path}`;
    const why = code === undefined ? "" : ` (${code})`;
    throw new SandboxError("CONFIG_INVALID", `The server's certificate cannot be used: ${which}${why}`, {
      hint: "server.tls.cert and server.tls.key are files in PEM that belong together, and that this user may read.",
      cause,
    });
  }
}

/** Answers what is not HTTP in the one shape of errors, and closes the connection. */
function replyToMalformedRequest(error: Error & { code?: string }, socket: Socket): void {
  // ECONNRESET: the client is gone.
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, told] =
    error.code === "HPE_HEADER_OVERFLOW"
      ? (["431 Request Header Fields Too Large", "The headers are larger than this server takes"] as const)
      : (["400 Bad Request", "This is not a valid HTTP request"] as const);
  const requestId = randomUUID();
  const body = JSON.stringify(toErrorBody(new SandboxError("INVALID_ARGUMENT", told), requestId));
  const head = [
    `HTTP/1.1 ${status}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${requestId}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`);
}

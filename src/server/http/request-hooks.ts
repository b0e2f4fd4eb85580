import type { ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { FastifyReply, FastifyRequest, RouteOptions } from "fastify";
import type { ServerConfig } from "../../core/config/index.js";
import { SandboxError } from "../../kit/errors.js";
import type { RecentEvents, ServerMetrics } from "../status/index.js";
import type { ApiKeyRecord, Store } from "../store/index.js";
import { type Access, type AccessRows, accessOf, suffices } from "./access.js";
import { methodsFor } from "./allowed-methods.js";
import { API_HEADERS, type App } from "./app.js";
import { authenticate, secretOf } from "./authenticate.js";
import { RetryLater, replyWithError, serverStopping, toErrorBody } from "./error-reply.js";
import { KeyLimits } from "./key-limits.js";
import { createOriginCheck } from "./origin-check.js";

declare module "fastify" {
  interface FastifyContextConfig {
    access?: Access;
    /** It takes WebSockets. */
    socket?: boolean;
    /** It waits for events most of the time, so it does not count towards its key's concurrency. */
    subscription?: boolean;
  }
  interface FastifyInstance {
    /** Throws unless this server certainly holds its lease. */
    assertLease(): void;
  }
  interface FastifyRequest {
    /** The key of the request. Not set on routes for anyone. */
    key: ApiKeyRecord;
    /** Whether the key is still valid: for what lasts longer than a request. */
    keyHolds: () => Promise<boolean>;
  }
}

/** What the checks know of the server. */
export interface CheckedServices {
  readonly config: { readonly server: ServerConfig };
  readonly store: Store;
  readonly lease: { assertHeld(): void };
  readonly isStopping: () => boolean;
  readonly recent: RecentEvents;
  readonly serverMetrics: ServerMetrics | undefined;
}

/** Gives every route the access of its row. A route without a row cannot be registered. */
export function requireAccessRows(app: App, rows: AccessRows): void {
  const routes: { method: string; url: string }[] = [];
  app.addHook("onRoute", (route: RouteOptions) => {
    for (const method of [route.method].flat()) {
      const access = accessOf(rows, method, route.url);
      // The pages of the reference register these by themselves.
      if (method === "HEAD" && access === undefined) continue;
      if (access === undefined) throw new Error(`There is no access row for ${method} ${route.url}`);
      route.config = { ...route.config, access };
      routes.push({ method, url: route.url });
    }
  });
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsFor(routes, request.url);
    if (methods.length === 0) return replyWithError(notFound(), request, reply);
    void reply.header("allow", methods.join(", "));
    return replyWithError(methodNotAllowed(methods), request, reply);
  });
}

/** What comes before every route: host and origin, lease, key, limits, scope. */
export function checkRequests(app: App, { config, store, lease, isStopping }: CheckedServices): void {
  const checkOrigin = createOriginCheck(config.server);
  const limits = new KeyLimits(config.server.limits);
  app.decorateRequest("key");
  app.decorateRequest("keyHolds");
  app.decorate("assertLease", () => lease.assertHeld());
  app.addHook("onRequest", async (request, reply) => {
    void reply.headers({ ...API_HEADERS, "x-request-id": request.id });
    const isUpgrade = request.headers.upgrade !== undefined;
    // The HTTP server no longer closes a connection that asked for an upgrade.
    if (isUpgrade) {
      void reply.header("connection", "close");
      reply.raw.once("finish", () => request.raw.socket.destroySoon());
    }
    if (checkOrigin(request, reply)) return reply;
    if (isUpgrade && request.routeOptions.config.socket !== true) throw noSocket();
    const access = request.routeOptions.config.access ?? "read";
    if (access === "anyone") return;
    lease.assertHeld();
    if (isStopping()) throw stopping(reply);
    const secret = secretOf(request.raw);
    request.key = await authenticate(secret, store.apiKeys);
    request.keyHolds = async () => secret !== undefined && (await store.apiKeys.find(secret)) !== undefined;
    const leave = limits.enter(request.key.id);
    if (request.routeOptions.config.subscription === true) leave();
    onceClosed(reply.raw, leave);
    // After the upgrade the socket outlives the response.
    if (isUpgrade) onceClosed(request.raw.socket, leave);
    if (!suffices(request.key.scopes, access)) throw forbidden(access);
  });
  app.addHook("preValidation", async (request) => {
    // A request without a body would be validated as null, which no schema accepts.
    request.body ??= {};
    checkValues(request.body);
  });
}

/** What comes after every route: no reply without the lease, a line in the log, metrics. */
export function checkReplies(app: App, { lease, recent, serverMetrics }: CheckedServices): void {
  app.addHook("onSend", async (request, reply, payload) => {
    const { access } = request.routeOptions.config;
    if (access === "anyone" || reply.statusCode >= 500) return payload;
    return unlessLost(lease, request, reply, payload);
  });
  app.addHook("onResponse", async (request, reply) => {
    logResponse(request, reply);
    recent.requests.add(String(reply.statusCode));
    serverMetrics?.answered(request, reply);
  });
}

/** A client that disconnected while its key was looked up emits no further `close`. */
function onceClosed(connection: ServerResponse | Socket, leave: () => void): void {
  if (connection.destroyed) leave();
  else connection.once("close", leave);
}

/** The result of a request that began before the lease was lost cannot be relied on: the reply becomes an error. */
function unlessLost(
  lease: CheckedServices["lease"],
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): unknown {
  try {
    lease.assertHeld();
    return payload;
  } catch (error) {
    const told = error as SandboxError;
    if (told instanceof RetryLater) void reply.header("retry-after", String(told.afterSeconds));
    void reply.code(told.httpStatus).type("application/json");
    return JSON.stringify(toErrorBody(told, request.id));
  }
}

function logResponse(request: FastifyRequest, reply: FastifyReply): void {
  const { key } = request as Partial<Pick<FastifyRequest, "key">>;
  request.log.info(
    {
      method: request.method,
      // The pattern, never the address: names and paths in it are a client's.
      route: request.routeOptions.url ?? "none",
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ...(key !== undefined && { key: key.id, org: key.org }),
    },
    "request",
  );
}

function noSocket(): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", "This address does not take WebSockets", {
    hint: "Leave the header Upgrade out.",
  });
}

function stopping(reply: FastifyReply): SandboxError {
  void reply.header("connection", "close");
  return serverStopping();
}

function forbidden(access: Access): SandboxError {
  return new SandboxError("FORBIDDEN", `This key may not do that: it takes ${NEEDED[access]}`, {
    hint: `Use a key that has it: \`skerry keys create --name NAME${FLAGS[access] ?? ""}\`.`,
  });
}

const FLAGS: Readonly<Partial<Record<Access, string>>> = { approve: " --approve", admin: " --admin" };
const NEEDED: Readonly<Record<Access, string>> = {
  anyone: "nothing",
  read: "a key",
  write: "one that is not read-only",
  approve: "the scope approve",
  admin: "the scope admin",
};

function notFound(): SandboxError {
  return new SandboxError("NOT_FOUND", "There is no such route", {
    hint: "/openapi.json lists all routes.",
  });
}

function methodNotAllowed(methods: readonly string[]): SandboxError {
  return new SandboxError("METHOD_NOT_ALLOWED", "This route does not take that method", {
    hint: `Use ${methods.join(" or ")}.`,
  });
}

/** A program with its files, arguments and variables has far fewer. */
const MOST_VALUES = 20_000;

/**
 * Refuses a body with so many values that validating them, and reporting each, would block the event loop.
 * INVALID_ARGUMENT.
 */
function checkValues(body: unknown): void {
  let count = 0;
  const rest: unknown[] = [body];
  while (rest.length > 0) {
    const value = rest.pop();
    // Streams and bytes are not counted.
    if (!isPlain(value)) continue;
    for (const key in value) {
      if (++count > MOST_VALUES) throw tooMany();
      const each = (value as Record<string, unknown>)[key];
      if (typeof each === "object" && each !== null) rest.push(each);
    }
  }
}

function isPlain(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null || Array.isArray(value);
}

function tooMany(): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", `The request has more than ${MOST_VALUES} values`, {
    hint: "Send fewer at once; upload many files as an archive (POST /v1/sessions/{sessionId}/snapshots/import).",
  });
}

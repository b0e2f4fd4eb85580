import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { createSecureContext } from "node:tls";
import websocket from "@fastify/websocket";
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
  type RouteOptions,
} from "fastify";
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from "fastify-type-provider-zod";
import { SandboxError } from "../../kit/errors.js";
import { expandHome } from "../../kit/expand-home.js";
import { packageVersion } from "../../kit/package-version.js";
import { DeadServers, interruptedApproval } from "../cluster/dead-servers.js";
import type { ServerPlace } from "../cluster/fenced-lease.js";
import { Forwarder } from "../cluster/forwarder.js";
import { readPeerCa } from "../cluster/peers.js";
import { ExecutionLog } from "../executions/execution-log.js";
import { LiveDesk } from "../live/live-call-service.js";
import { PortDesk } from "../ports/port-service.js";
import { ROUTE_FILES } from "../routes/all-routes.js";
import type { ServerCore, ServerParts } from "../services.js";
import { SessionDesk } from "../sessions/session-service.js";
import { RunningWork } from "../sessions/task-registry.js";
import { RecentEvents } from "../status/recent-events.js";
import { ServerLife } from "../status/server-info.js";
import { createServerMetrics } from "../status/server-metrics.js";
import type { ApiKeyRecord, ApprovalRecord } from "../store/index.js";
import { type Access, accessOf, suffices } from "./access.js";
import { methodsFor } from "./allowed-methods.js";
import { authenticate, SOCKET_PROTOCOL, secretOf } from "./authenticate.js";
import { checkValues } from "./body-values.js";
import { bodyOf, logError, RetryLater, replyWithError, serverStopping } from "./error-reply.js";
import { KeyLimits } from "./key-limits.js";
import { type LogStream, logOptions } from "./log.js";
import { replyToGarbage } from "./malformed-request.js";
import { hangUp } from "./managed-socket.js";
import { documentRoutes } from "./openapi.js";
import { createFrontDoor } from "./origin-check.js";

declare module "fastify" {
  interface FastifyContextConfig {
    access?: Access;
    /** It takes WebSockets. */
    socket?: boolean;
    /** It waits, for most of its life: it has no place among those of its key that run at once. */
    standing?: boolean;
  }
  interface FastifyInstance {
    /** Throws unless what this server has is certain to be its own. */
    assertPlace(): void;
  }
  interface FastifyRequest {
    /** Whose request it is. Not there on routes for anyone. */
    key: ApiKeyRecord;
    /** Whether that key still is one: for what lasts longer than a request. */
    keyHolds: () => Promise<boolean>;
  }
}

export interface ServerOptions extends ServerParts {
  /** Where the log goes; left out: nowhere. */
  readonly log?: LogStream | undefined;
}

const API_HEADERS = {
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
} as const;
/** What a caller may call a request: it stands in logs and records. */
const REQUEST_ID = /^[\w.:-]{1,128}$/;
const MAX_PARAMETER_CHARACTERS = 2048;
/** What a WebSocket is told when the server stops. */
const GOING_AWAY = 1001;

/** A server that does not listen yet. */
export type Server = Awaited<ReturnType<typeof createServer>>;

/** The HTTP API over a manager and a store. `listen` of `app` opens it; `stopWork` comes before `app.close`. */
export async function createServer(options: ServerOptions) {
  const { config, store, place, audit, log } = options;
  const { server: settings } = config;
  const app = fastify({
    logger: log === undefined ? false : logOptions(settings.logs.level, log),
    // We say it ourselves: without addresses, which are a caller's words.
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: "requestId" }),
    requestIdHeader: false,
    genReqId: ({ headers }: IncomingMessage) => {
      const given = headers["x-request-id"];
      return typeof given === "string" && REQUEST_ID.test(given) ? given : randomUUID();
    },
    bodyLimit: settings.limits.bodyBytes,
    // An upload takes as long as it takes; one that stands still has one of its key's places.
    requestTimeout: 0,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER_CHARACTERS },
    // These come before any hook.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) =>
      replyWithError(error, request, reply.headers({ ...API_HEADERS, "x-request-id": request.id })),
    clientErrorHandler: replyToGarbage,
    // Ours are the only ones: without this fastify loads its own, which takes as long as all the rest of it.
    schemaController: {
      compilersFactory: {
        buildValidator: () => validatorCompiler,
        buildSerializer: () => serializerCompiler,
      },
    },
    ...(settings.tls !== undefined && { https: readTls(settings.tls) }),
  } as object).withTypeProvider<ZodTypeProvider>();

  let isStopping = false;
  const work = new RunningWork();
  const onFailure = (error: unknown, what: string) => {
    app.log.warn({ what });
    logError(app, error);
  };
  const dead = new DeadServers({
    store,
    place,
    audit,
    onEnded: (counts) => app.log.warn(counts, "other servers are dead: what they had has ended"),
    onFailure: (error) => logError(app, error),
  });
  const sessions: SessionDesk = new SessionDesk({
    ...options,
    config: settings.sessions,
    work,
    endDead: () => dead.end(),
    onFailure,
    onCleaned: (session) => {
      live.forgetSession(session);
      ports.forgetSession(session);
    },
  });
  const executions = new ExecutionLog({ store, place, onFailure });
  const live = new LiveDesk(settings, { ...options, sessions, executions, onFailure });
  const ports = new PortDesk({ ...options, sessions });
  const version = packageVersion();
  const life = new ServerLife(version, () => app.websocketServer.clients.size);
  app.addHook("onListen", async () => life.loopDelay.reset());
  app.addHook("onClose", async () => life[Symbol.dispose]());
  const recent = options.recent ?? new RecentEvents();
  const serverMetrics =
    options.metrics === undefined ? undefined : await createServerMetrics(options.metrics, version);
  const core: ServerCore = {
    ...options,
    ...{ work, sessions, executions, live, ports, life, recent, serverMetrics },
    hasPolicy: options.hasPolicy === true,
    isStopping: () => isStopping,
  };

  app.setValidatorCompiler(validatorCompiler);
  app.setSerializerCompiler(serializerCompiler);
  app.setErrorHandler(replyWithError);
  acceptJsonOnly(app);

  const routes: { method: string; url: string }[] = [];
  app.addHook("onRoute", (route: RouteOptions) => {
    for (const method of [route.method].flat()) {
      const access = accessOf(method, route.url);
      // Those of the reference's pages come by themselves.
      if (method === "HEAD" && access === undefined) continue;
      if (access === undefined) throw new Error(`access.ts has no row for ${method} ${route.url}`);
      route.config = { ...route.config, access };
      routes.push({ method, url: route.url });
    }
  });

  const frontDoor = createFrontDoor(settings);
  const limits = new KeyLimits(settings.limits);
  app.decorateRequest("key");
  app.decorateRequest("keyHolds");
  app.decorate("assertPlace", () => place.check());
  app.addHook("onRequest", async (request, reply) => {
    void reply.headers({ ...API_HEADERS, "x-request-id": request.id });
    const isUpgrade = request.headers.upgrade !== undefined;
    // Such a connection is no longer the HTTP server's, which would close it.
    if (isUpgrade) {
      void reply.header("connection", "close");
      reply.raw.once("finish", () => request.raw.socket.destroySoon());
    }
    if (frontDoor(request, reply)) return reply;
    if (isUpgrade && request.routeOptions.config.socket !== true) throw noSocket();
    const access = request.routeOptions.config.access ?? "read";
    if (access === "anyone") return;
    place.check();
    if (isStopping) throw stopping(reply);
    const secret = secretOf(request.raw);
    request.key = await authenticate(secret, store.apiKeys);
    request.keyHolds = async () => secret !== undefined && (await store.apiKeys.find(secret)) !== undefined;
    const leave = limits.enter(request.key.id);
    if (request.routeOptions.config.standing === true) leave();
    leaveWith(reply.raw, leave);
    // A socket that was upgraded is no response any more.
    if (isUpgrade) leaveWith(request.raw.socket, leave);
    if (!suffices(request.key.scopes, access)) throw forbidden(access);
  });
  const forwarder = new Forwarder({
    store,
    server: options.lease.server,
    sessions,
    work,
    ca: readPeerCa(settings),
  });
  forwarder.addTo(app);
  app.addHook("onSend", async (request, reply, payload) => {
    const access = request.routeOptions.config.access;
    return access === "anyone" || reply.statusCode >= 500
      ? payload
      : unlessLost(place, request, reply, payload);
  });
  app.addHook("preValidation", async (request) => {
    // A request without a body would be checked as null, which no schema means.
    request.body ??= {};
    checkValues(request.body);
  });
  app.addHook("onResponse", async (request, reply) => {
    logResponse(request, reply);
    recent.requests.add(String(reply.statusCode));
    serverMetrics?.answered(request, reply);
  });
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsFor(routes, request.url);
    if (methods.length === 0) return replyWithError(notFound(), request, reply);
    void reply.header("allow", methods.join(", "));
    return replyWithError(methodNotAllowed(methods), request, reply);
  });

  await app.register(websocket, {
    options: {
      maxPayload: settings.limits.bodyBytes,
      // Never the one that a key is in, which would then stand in an answer.
      handleProtocols: (offered) => (offered.has(SOCKET_PROTOCOL) ? SOCKET_PROTOCOL : false),
    },
    preClose: (done) => {
      for (const socket of app.websocketServer.clients) hangUp(socket, GOING_AWAY, "the server stops");
      done();
    },
  });
  await documentRoutes(app, version);
  for (const add of ROUTE_FILES) await app.register(async (scope) => add(scope.withTypeProvider(), core));
  await app.ready();
  return {
    app,
    core,
    /** Ends what was sent on to servers that are dead, and what those had. */
    lookForDead: async () => {
      await forwarder.look();
      await dead.end();
    },
    /** Takes no new work, and resolves when what runs has ended or was ended. */
    stopWork: async (deadlineMs: number = settings.stopDeadlineMs) => {
      isStopping = true;
      sessions.ahead.stop();
      live.stop();
      ports.stop();
      const note = async (approval: ApprovalRecord) => void (await audit?.log(interruptedApproval(approval)));
      // A store that is away keeps nobody from stopping. What was asked here may be another server's to reject by now.
      const asked = place.isLost
        ? undefined
        : options.approvals.stop(note).catch((error: unknown) => logError(app, error));
      await Promise.all([asked, work.drain(deadlineMs)]);
    },
    /** Takes no new work, and ends what runs at once: none of it is this server's any more. */
    cutOff: (why: SandboxError) => {
      isStopping = true;
      sessions.ahead.stop();
      live.stop();
      ports.stop();
      work.abortAll(why);
      forwarder.cutAll();
    },
  };
}

/** Whoever hung up while their key was looked up is gone by now, and is not told of again. */
function leaveWith(connection: ServerResponse | Socket, leave: () => void): void {
  if (connection.destroyed) leave();
  else connection.once("close", leave);
}

/** What came of a request that began before the place was lost is nothing to rely on. */
function unlessLost(
  place: ServerPlace,
  request: FastifyRequest,
  reply: FastifyReply,
  payload: unknown,
): unknown {
  try {
    place.check();
    return payload;
  } catch (error) {
    const told = error as SandboxError;
    if (told instanceof RetryLater) void reply.header("retry-after", String(told.afterSeconds));
    void reply.code(told.httpStatus).type("application/json");
    return JSON.stringify(bodyOf(told, request.id));
  }
}

/** No form, no text: a page elsewhere can send those without asking. */
function acceptJsonOnly(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser(
    "application/json",
    { parseAs: "string" },
    app.getDefaultJsonParser("error", "error"),
  );
}

function logResponse(request: FastifyRequest, reply: FastifyReply): void {
  const { key } = request as Partial<Pick<FastifyRequest, "key">>;
  request.log.info(
    {
      method: request.method,
      // The pattern, never the address: names and paths in it are a caller's.
      route: request.routeOptions.url ?? "none",
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime * 10) / 10,
      ...(key !== undefined && { key: key.id, org: key.org }),
    },
    "request",
  );
}

function noSocket(): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", "This address takes no WebSocket", {
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
  return new SandboxError("NOT_FOUND", "There is nothing at this address", {
    hint: "/openapi.json has every address.",
  });
}

function methodNotAllowed(methods: readonly string[]): SandboxError {
  return new SandboxError("METHOD_NOT_ALLOWED", "This address takes other methods", {
    hint: `Use ${methods.join(" or ")}.`,
  });
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

import websocket from "@fastify/websocket";
import type { SandboxError } from "../../kit/errors.js";
import { interruptedApproval, readPeerCa } from "../cluster/index.js";
import { createServices } from "../create-services.js";
import { Forwarder } from "../forwarding/index.js";
import type { LogStream } from "../http/index.js";
import {
  checkReplies,
  checkRequests,
  closeSocket,
  createApp,
  documentRoutes,
  logError,
  requireAccessRows,
  SOCKET_PROTOCOL,
} from "../http/index.js";
import { accessRows, addRoutes } from "../protocols.js";
import type { ServerDependencies } from "../services.js";
import type { ApprovalRecord } from "../store/index.js";

export interface ServerOptions extends ServerDependencies {
  /** Where the log goes; left out: nowhere. */
  readonly log?: LogStream | undefined;
}

/** What WebSockets are closed with when the server stops. */
const GOING_AWAY = 1001;

/** A server that does not listen yet. */
export type Server = Awaited<ReturnType<typeof createServer>>;

/** The HTTP API over a manager and a store. `app.listen` opens it; call `stopWork` before `app.close`. */
export async function createServer(options: ServerOptions) {
  const { config, store, lease, audit, approvals } = options;
  const app = createApp(config.server, options.log);
  const openSockets = () => app.websocketServer.clients.size;
  const { services, refuseWork, reapDead } = await createServices(options, app.log, openSockets);
  const { info, sessions, tasks } = services;
  app.addHook("onListen", async () => info.loopDelay.reset());
  app.addHook("onClose", async () => info[Symbol.dispose]());

  requireAccessRows(app, accessRows());
  checkRequests(app, services);
  const forwarder = new Forwarder({
    store,
    server: lease.server,
    sessions,
    tasks,
    ca: readPeerCa(config.server),
  });
  // After the checks of the request, before every route.
  forwarder.addTo(app);
  checkReplies(app, services);

  await app.register(websocket, {
    options: {
      maxPayload: config.server.limits.bodyBytes,
      // Never the protocol that holds a key: the reply would repeat it.
      handleProtocols: (offered) => (offered.has(SOCKET_PROTOCOL) ? SOCKET_PROTOCOL : false),
    },
    preClose: (done) => {
      for (const socket of app.websocketServer.clients) closeSocket(socket, GOING_AWAY, "the server stops");
      done();
    },
  });
  await documentRoutes(app, info.version);
  await addRoutes(app, services);
  await app.ready();
  return {
    app,
    services,
    /** Ends requests that were forwarded to dead servers, and what those servers had. */
    reapDead: async () => {
      await forwarder.cancelDead();
      await reapDead();
    },
    /** Takes no new work. Resolves when what runs has ended; after the deadline it is aborted. */
    stopWork: async (deadlineMs: number = config.server.stopDeadlineMs) => {
      refuseWork();
      const note = async (approval: ApprovalRecord) => void (await audit?.log(interruptedApproval(approval)));
      // A store that is away does not prevent a stop. Without the lease, another server rejects these approvals.
      const asked = lease.isLost
        ? undefined
        : approvals.stop(note).catch((error: unknown) => logError(app, error));
      await Promise.all([asked, tasks.drain(deadlineMs)]);
    },
    /** Takes no new work, and aborts what runs at once: without the lease it is no longer this server's. */
    abortWork: (why: SandboxError) => {
      refuseWork();
      tasks.abortAll(why);
      forwarder.cancelAll();
    },
  };
}

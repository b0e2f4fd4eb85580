import type { SessionRoutes } from "./api.js";
import { checkPort, checkPortPath, checkRequest } from "./check-arguments.js";
import { checkOptions, type OptionNames } from "./check-options.js";
import type { SessionFetchOptions } from "./sandbox-session.js";
import { Socket } from "./socket.js";
import type { Body } from "./transport.js";

const PORTS = "/v1/sessions/{sessionId}/ports";
const TUNNEL = "/v1/sessions/{sessionId}/tunnels/{port}";
/** More is sent when this has gone out. */
const MOST_WAITING_BYTES = 1024 * 1024;
const LOOK_MS = 10;

const FETCH_OPTIONS: OptionNames<SessionFetchOptions> = {
  method: true,
  headers: true,
  body: true,
  signal: true,
};

/** The bytes of one connection, both ways. */
export interface Tunnel {
  readonly readable: ReadableStream<Uint8Array>;
  readonly writable: WritableStream<Uint8Array>;
}

/** Ports that programs of a session listen on. Takes `sandbox.network.allowLocalBinding` at the server. */
export class SessionPorts {
  readonly #routes: SessionRoutes;

  /** @internal */
  constructor(routes: SessionRoutes) {
    this.#routes = routes;
  }

  /** A request to what listens there; whatever status it answers with is the answer. `path` begins with a slash. */
  async fetch(port: number, path: string, options: SessionFetchOptions = {}): Promise<Response> {
    const { method = "GET", body, headers, signal } = checkOptions(options, FETCH_OPTIONS);
    checkPort(port);
    checkPortPath(path);
    checkRequest(method, headers, body);
    // Its dots go up from the port's root, and never to another route.
    const inside = new URL(`http://inside${path}`);
    const at = `${this.#routes.at(PORTS)}/${Number(port)}${inside.pathname}${inside.search}`;
    const sent = body === undefined ? {} : { body: { content: body as Body } };
    const request = { headers, signal, redirect: "manual", ...sent } as const;
    const { transport } = this.#routes;
    const response = await transport.request(method.toUpperCase(), at, request);
    const { status, statusText, headers: answered } = response;
    const content = response.body && transport.stream(response, { signal });
    return new Response(content, { status, statusText, headers: answered });
  }

  /** A connection to what listens there. */
  async connect(port: number): Promise<Tunnel> {
    checkPort(port);
    const path = this.#routes.of({ port }).at(TUNNEL);
    const socket = await Socket.open(this.#routes.transport, path);
    return {
      readable: new ReadableStream<Uint8Array>({
        pull: async (controller) => {
          const data = await socket.next();
          if (data === undefined) controller.close();
          else if (typeof data !== "string") controller.enqueue(data);
        },
        cancel: () => socket.close(),
      }),
      writable: new WritableStream<Uint8Array>({
        write: async (bytes) => {
          socket.send(bytes);
          // A WebSocket does not say when there is room again.
          while (socket.isOpen && socket.waitingBytes > MOST_WAITING_BYTES)
            await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
        },
        close: () => socket.close(),
        abort: () => socket.close(),
      }),
    };
  }
}

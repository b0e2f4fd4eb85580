import { createServer, type Socket } from "node:net";
import { type Duplex, pipeline } from "node:stream";
import { SandboxError, systemCode } from "../../../kit/errors.js";

const HOST = "127.0.0.1";
/** More would only be held up by the wire. */
const MAX_CONNECTIONS = 256;

export interface OpenPortOptions {
  /** The port on this host; left out: any that is free. */
  readonly hostPort?: number;
}

/** A port inside that can be reached on this host's loopback. */
export interface OpenPort {
  /** The one inside. */
  readonly port: number;
  readonly host: string;
  readonly hostPort: number;
  /** Resolves when it has been closed. */
  readonly closed: Promise<void>;
  /** Ends its connections, too. Idempotent. */
  close(): Promise<void>;
}

/** Throws unless ports inside may be opened on this host. */
export function assertPorts(areAllowed: boolean): void {
  if (areAllowed) return;
  throw new SandboxError("UNSUPPORTED", "Ports of a sandbox are not opened unless that is asked for", {
    hint: "Set sandbox.network.allowLocalBinding to true.",
  });
}

/** Listens on this host's loopback and carries every connection to a port inside. */
export async function openPort(
  connect: (port: number) => Promise<Duplex>,
  port: number,
  { hostPort = 0 }: OpenPortOptions = {},
): Promise<OpenPort> {
  checkPort(port, 1);
  checkPort(hostPort, 0);
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
    void carry(socket, connect, port);
  });
  server.maxConnections = MAX_CONNECTIONS;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) => reject(cannotListen(error, hostPort)));
    server.listen(hostPort, HOST, resolve);
  });
  // A connection that cannot be accepted is that connection's trouble.
  server.on("error", () => undefined);
  const address = server.address();
  const closed = new Promise<void>((resolve) => server.once("close", resolve));
  return {
    port,
    host: HOST,
    hostPort: typeof address === "object" && address !== null ? address.port : hostPort,
    closed,
    close: () => {
      server.close();
      for (const socket of sockets) socket.destroy();
      return closed;
    },
  };
}

/** Nothing listens inside: the connection is reset, as it would be without a sandbox between. */
async function carry(
  socket: Socket,
  connect: (port: number) => Promise<Duplex>,
  port: number,
): Promise<void> {
  try {
    joinStreams(socket, await connect(port));
  } catch {
    socket.resetAndDestroy();
  }
}

/** Throws for an invalid port. */
export function checkPort(port: number, least: number): void {
  if (Number.isInteger(port) && port >= least && port <= 65_535) return;
  throw new SandboxError("INVALID_ARGUMENT", `A port is a number between 1 and 65535, not ${String(port)}`);
}

function cannotListen(error: unknown, port: number): SandboxError {
  const why = systemCode(error) === "EADDRINUSE" ? "is in use" : "cannot be opened";
  return new SandboxError("INVALID_ARGUMENT", `Port ${port} of this host ${why}`, {
    hint: "Choose another, or leave it out for any that is free.",
    cause: error,
  });
}

/** Carries bytes both ways until both sides are done; the trouble of one ends the other. */
export function joinStreams(one: Duplex, other: Duplex): void {
  pipeline(one, other, () => undefined);
  pipeline(other, one, () => undefined);
}

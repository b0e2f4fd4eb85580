import type { Socket } from "node:net";
import type { Duplex, Transform } from "node:stream";
import { type Connections, Unreachable } from "./connections.js";

export interface RelayOptions {
  readonly connections: Connections;
  readonly idleMs: number;
  /** What the sandbox sends goes through it. */
  readonly outward?: Transform | undefined;
  /** What the host sends goes through it. */
  readonly inward?: Transform | undefined;
  /** Once; with an error when neither side ended it. The program inside may leave as it likes. */
  readonly over: (error?: Error) => void;
}

/** Carries bytes both ways until both sides have said that they are done. One side may end long before the other. */
export function relay(client: Duplex, host: Socket, options: RelayOptions): void {
  const { connections, idleMs, outward, inward } = options;
  let why: Error | undefined;
  const stop = (error?: Error) => {
    why ??= error;
    client.destroy();
    host.destroy();
  };
  connections.meter(client);
  connections.meter(host);
  carry(client, host, outward, stop);
  carry(host, client, inward, stop);
  // Whatever passes in either direction passes the host's socket.
  host.setTimeout(idleMs, () => stop(new Unreachable(504, `closed: nothing passed for ${idleMs / 1000} s`)));
  host.on("error", (error) => stop(broken(error)));
  client.once("close", () => {
    if (!client.readableEnded || !client.writableFinished) stop();
    else if (!host.destroyed && host.readableEnded) host.destroy();
  });
  const over = () => {
    if (!host.readableEnded) client.destroy();
    else if (!client.destroyed) lingerThenDestroy(client, idleMs);
    options.over(why);
  };
  if (host.errored) why = broken(host.errored);
  if (host.closed) return over();
  host.once("close", over);
  if (client.destroyed) stop();
}

function broken(error: NodeJS.ErrnoException): Unreachable {
  if (error instanceof Unreachable) return error;
  return new Unreachable(502, `the host broke the connection off (${error.code ?? error.message})`);
}

function carry(from: Duplex, to: Duplex, through: Transform | undefined, stop: (error: Error) => void): void {
  if (through === undefined) {
    from.pipe(to);
    return;
  }
  through.once("error", stop);
  from.pipe(through).pipe(to);
}

/** Lets what was written arrive, for a while. */
export function lingerThenDestroy(stream: Duplex, lingerMs: number): void {
  const timer = setTimeout(() => stream.destroy(), lingerMs).unref();
  stream.once("close", () => clearTimeout(timer));
}

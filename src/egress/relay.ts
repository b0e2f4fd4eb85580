import type { Socket } from "node:net";
import type { Duplex, Transform } from "node:stream";
import type { Connections } from "./connections.js";

export interface RelayOptions {
  readonly connections: Connections;
  readonly idleMs: number;
  /** What the sandbox sends goes through it. */
  readonly outward?: Transform | undefined;
  /** What the host sends goes through it. */
  readonly inward?: Transform | undefined;
  /** Once; with an error when it did not end by itself. */
  readonly over: (error?: Error) => void;
}

/** Carries bytes both ways until both sides have said that they are done. One side may end long before the other. */
export function relay(client: Duplex, host: Socket, options: RelayOptions): void {
  const { connections, idleMs, outward, inward } = options;
  let why: Error | undefined;
  const stop = (error: Error) => {
    why ??= error;
    client.destroy();
    host.destroy();
  };
  connections.meter(client);
  connections.meter(host);
  carry(client, host, outward, stop);
  carry(host, client, inward, stop);
  // Whatever passes in either direction passes the host's socket.
  host.setTimeout(idleMs, () => stop(new Error(`closed: nothing passed for ${idleMs / 1000} s`)));
  host.on("error", stop);
  client.once("close", () => {
    if (!client.readableEnded || !client.writableFinished) stop(new Error("the program inside closed it"));
    else if (!host.destroyed && host.readableEnded) host.destroy();
  });
  const over = () => {
    if (!host.readableEnded) client.destroy();
    else if (!client.destroyed) lingerThenDestroy(client, idleMs);
    options.over(why);
  };
  if (host.closed) return over();
  host.once("close", over);
  if (client.destroyed) stop(new Error("the program inside closed it"));
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

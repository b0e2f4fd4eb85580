import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A daemon's socket, or a server, under another TCP address: to its clients it is on another machine. */
export interface TcpForwarder {
  /** As in DOCKER_HOST. */
  readonly host: string;
  readonly port: number;
  /** The open connections on which this was asked for last. */
  connectionsTo(path: string): Socket[];
  close(): void;
}

/** To `unix:///a/socket`, or to the host and port of a URL. */
export async function openTcpForwarder(target: string): Promise<TcpForwarder> {
  const { hostname: host, port: at } = new URL(target);
  const place = target.startsWith("unix://")
    ? { path: target.slice("unix://".length) }
    : { host, port: Number(at) };
  /** With the last path that was asked for. */
  const connections = new Map<Socket, string>();
  const gate = createServer({ allowHalfOpen: true }, (client) => {
    const daemon = connect({ ...place, allowHalfOpen: true });
    connections.set(client, "");
    client.on("data", (chunk: Buffer) => {
      const path = /^[A-Z]+ (\S+) HTTP/.exec(chunk.toString("latin1"))?.[1];
      if (path !== undefined) connections.set(client, path);
    });
    client.on("close", () => connections.delete(client) && daemon.destroy());
    daemon.on("close", () => client.destroy());
    daemon.on("error", () => client.destroy()).pipe(client);
    client.on("error", () => daemon.destroy()).pipe(daemon);
  });
  gate.listen(0, "127.0.0.1");
  gate.unref();
  await once(gate, "listening");
  const { port } = gate.address() as AddressInfo;
  return {
    host: `tcp://127.0.0.1:${port}`,
    port,
    connectionsTo: (path) =>
      [...connections].flatMap(([each, last]) => (last.startsWith(path) ? [each] : [])),
    close() {
      gate.close();
      for (const each of connections.keys()) each.destroy();
    },
  };
}

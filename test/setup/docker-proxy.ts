import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";

/** What becomes of a request: the daemon gets it, it is answered with 500, or it is never answered. */
export type Fate = "pass" | "refuse" | "stall";

/** Stands in front of a Docker daemon and fails as the test says. */
export class DockerProxy {
  readonly #directory = mkdtempSync("/tmp/skerry-docker-proxy-");
  readonly host = `unix://${this.#directory}/docker.sock`;
  /** By "METHOD /path". */
  fate: (request: string) => Fate = () => "pass";
  readonly requests: string[] = [];
  readonly #sockets = new Set<Socket>();
  readonly #server;

  private constructor(daemon: string) {
    this.#server = createServer((client) => {
      const upstream = connect(daemon.replace("unix://", ""));
      for (const socket of [client, upstream]) this.#sockets.add(socket.on("error", () => undefined));
      client.on("close", () => upstream.destroy());
      upstream.on("close", () => client.destroy()).pipe(client);
      client.on("data", (chunk: Buffer) => {
        const request = /^([A-Z]+ \S+) HTTP\/1\.1\r\n/.exec(chunk.toString("latin1"))?.[1];
        if (request !== undefined) this.requests.push(request);
        const fate = request === undefined ? "pass" : this.fate(request);
        if (fate === "pass") upstream.write(chunk);
        if (fate === "refuse") {
          const body = '{"message":"refused by the test"}';
          client.write(
            `HTTP/1.1 500 No\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
          );
        }
      });
      client.on("end", () => upstream.end());
    });
  }

  static async open(daemon: string): Promise<DockerProxy> {
    const proxy = new DockerProxy(daemon);
    await once(proxy.#server.listen(proxy.host.replace("unix://", "")), "listening");
    return proxy;
  }

  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

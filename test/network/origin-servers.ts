import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import { createServer as createSecure } from "node:https";
import { createServer as createTcp, type Server, type Socket } from "node:net";
import { createSecureContext } from "node:tls";
import type { CertificateOptions } from "../setup/egress-hosts.js";
import type { Packages } from "./packages.js";

/** A connection to a server of the test network, whether it was used or not. */
export interface Visit {
  /** "5.5.5.5:443" */
  readonly to: string;
  /** That were sent. */
  readonly bytes: number;
  /** "GET https://api.skerry.test/hello" */
  readonly requests: readonly string[];
}

interface OpenVisit {
  readonly to: string;
  readonly socket: Socket;
  readonly requests: string[];
}

interface Certifier {
  certificate(name: string, options?: CertificateOptions): { key: Buffer; cert: Buffer };
}

/** Neither HTTP nor TLS, on a port that no rule names. */
export const BARE_PORT = 2222;

/** Every server of the test network, on each of its addresses. */
export class Origins {
  /** What a request to /private has to bring along. */
  secret: string | undefined;
  /** The Authorization headers that came. */
  authorizations: string[] = [];
  readonly #packages: Packages;
  readonly #certifier: Certifier;
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  #visits: OpenVisit[] = [];

  constructor(packages: Packages, certifier: Certifier) {
    this.#packages = packages;
    this.#certifier = certifier;
  }

  async start(): Promise<void> {
    const usual = this.#certifier.certificate("*.skerry.test");
    const contexts = new Map([
      ["expired.skerry.test", this.#certifier.certificate("expired.skerry.test", { expired: true })],
      ["foreign.skerry.test", this.#certifier.certificate("foreign.skerry.test", { foreign: true })],
      ["wrong.skerry.test", this.#certifier.certificate("other.skerry.test")],
    ]);
    const secure = createSecure(
      {
        ...usual,
        SNICallback: (name, done) => done(null, createSecureContext(contexts.get(name) ?? usual)),
      },
      this.#listener("https"),
    );
    await this.#listen(createServer(this.#listener("http")), 80);
    await this.#listen(secure, 443);
    await this.#listen(
      createTcp((socket) => socket.end("hello from a bare port\n")),
      BARE_PORT,
    );
  }

  /** The connections since this was last asked. */
  takeVisits(): Visit[] {
    const visits = this.#visits.map(({ to, socket, requests }) => ({
      to,
      bytes: socket.bytesRead,
      requests,
    }));
    this.#visits = [];
    return visits;
  }

  takeAuthorizations(): string[] {
    return this.authorizations.splice(0);
  }

  get open(): number {
    return this.#sockets.size;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    for (const server of this.#servers) server.close();
  }

  async #listen(server: Server, port: number): Promise<void> {
    server.on("connection", (socket: Socket) => {
      const address = (socket.localAddress ?? "").replace(/^::ffff:/, "");
      this.#visits.push({ to: `${address}:${port}`, socket, requests: [] });
      this.#sockets.add(socket);
      socket.on("error", () => undefined).once("close", () => this.#sockets.delete(socket));
    });
    server.on("tlsClientError", () => undefined);
    server.listen(port, "::");
    await once(server, "listening");
    this.#servers.push(server);
  }

  #listener(scheme: "http" | "https"): RequestListener {
    return (request, response) => {
      const { remotePort, localAddress } = request.socket;
      const base = `${scheme}://${request.headers.host}`;
      const visit = this.#visits.findLast(
        ({ socket }) => socket.remotePort === remotePort && socket.localAddress === localAddress,
      );
      visit?.requests.push(`${request.method} ${base}${request.url}`);
      const { authorization } = request.headers;
      if (authorization !== undefined) this.authorizations.push(authorization);
      let path = (request.url ?? "").split("?", 1)[0]!;
      const isPrivate = path.startsWith("/private/");
      if (isPrivate) {
        if (!this.#isKnown(authorization)) {
          return void response
            .writeHead(401, { "www-authenticate": 'Basic realm="test"' })
            .end("who are you?\n");
        }
        path = path.slice("/private".length);
      }
      if (path.startsWith("/smart/")) return this.#packages.serveGit(request, response, path);
      request.resume();
      if (path === "/silent") return;
      if (path === "/redirect") {
        return void response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data/" }).end();
      }
      if (path === "/hello") return void response.end(`hello from ${request.headers.host}\n`);
      if (path === "/echo") return void response.end(JSON.stringify(request.headers));
      const found = this.#packages.find(path, isPrivate ? `${base}/private` : base);
      if (found === undefined) return void response.writeHead(404).end("nothing here\n");
      response.writeHead(200, { "content-type": found.type }).end(found.body);
    };
  }

  #isKnown(authorization = ""): boolean {
    const [kind = "", given = ""] = authorization.split(" ");
    if (this.secret === undefined) return false;
    if (kind === "Bearer") return given === this.secret;
    return kind === "Basic" && Buffer.from(given, "base64").toString().endsWith(`:${this.secret}`);
  }
}

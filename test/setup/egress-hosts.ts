import { execFile, execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttp, type RequestListener } from "node:http";
import { createServer as createHttps } from "node:https";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { waitUntil } from "../../src/kit/wait-until.js";
import type { EgressEvent } from "../../src/runtime/egress/events.js";
import { Egress, type EgressOptions } from "../../src/runtime/egress/proxy/egress.js";
import type { EgressRules } from "../../src/runtime/egress/rules/rules.js";
import { temporaryDirectory } from "./clean-up.js";

/** Rules that allow the loopback addresses that hosts of a test have, and these names. */
export function allowing(names: readonly string[], more: Partial<EgressRules> = {}): EgressRules {
  return {
    allowedDomains: names.map((value) => ({ value, rule: `allow ${value}` })),
    deniedDomains: [],
    allowedIps: [{ value: "127.0.0.2/32", rule: "allow 127.0.0.2" }],
    deniedIps: [],
    deniedPorts: [],
    requests: [],
    origin: "allowedDomains",
    ipsOrigin: "allowedIps",
    portsOrigin: "allowedPorts",
    ...more,
  };
}

/** Rules that name ports, too. */
export function onPorts(...ports: readonly number[]): Partial<EgressRules> {
  return { allowedPorts: ports.map((value) => ({ value, rule: `allow port ${value}` })) };
}

/** Hosts on 127.0.0.2, an egress before them, and a port of 127.0.0.1 that leads into it as the guest's does. */
export class EgressHosts {
  /** Of the egress that is open. */
  events: EgressEvent[] = [];
  /** What names resolve to. Others resolve to 127.0.0.2. */
  readonly names = new Map<string, string[] | (() => string[])>();
  readonly #servers: Server[] = [];
  readonly #sockets = new Set<Socket>();
  #directory: string | undefined;
  egress!: Egress;
  port = 0;

  async open(options: EgressOptions): Promise<Egress> {
    this.egress?.close();
    const events: EgressEvent[] = [];
    this.events = events;
    this.egress = new Egress({
      resolve: async (name) => {
        const answer = this.names.get(name) ?? ["127.0.0.2"];
        return typeof answer === "function" ? answer() : answer;
      },
      onEvent: (event) => events.push(event),
      ...options,
    });
    if (this.port === 0) {
      const door = createServer({ allowHalfOpen: true }, (socket) => this.egress.accept(socket));
      this.port = await this.listen(door, "127.0.0.1");
    }
    return this.egress;
  }

  async listen(server: Server, address = "127.0.0.2", port = 0): Promise<number> {
    server.on("connection", (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on("error", () => undefined).once("close", () => this.#sockets.delete(socket));
    });
    server.listen(port, address);
    await once(server, "listening");
    this.#servers.push(server);
    return (server.address() as AddressInfo).port;
  }

  http(listener: RequestListener): Promise<number> {
    return this.listen(createHttp(listener));
  }

  https(listener: RequestListener, name: string, options: CertificateOptions = {}): Promise<number> {
    return this.listen(createHttps(this.certificate(name, options), listener));
  }

  tcp(listener: (socket: Socket) => void): Promise<number> {
    return this.listen(createServer({ allowHalfOpen: true }, listener));
  }

  /** The certificate of the test's own authority. */
  get ca(): string {
    return readFileSync(join(this.directory, "ca.pem"), "utf8");
  }

  get caPath(): string {
    return join(this.directory, "ca.pem");
  }

  get directory(): string {
    if (this.#directory !== undefined) return this.#directory;
    this.#directory = temporaryDirectory();
    this.#openssl(
      ..."req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=test".split(
        " ",
      ),
    );
    return this.#directory;
  }

  certificate(name: string, { expired = false, foreign = false }: CertificateOptions = {}) {
    const file = join(this.directory, `${name}-${expired}-${foreign}`);
    const subject = ["-subj", `/CN=${name}`, "-addext", `subjectAltName=DNS:${name}`];
    const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", `${file}.key`];
    if (foreign) {
      this.#openssl("req", "-x509", ...key, "-out", `${file}.pem`, "-days", "2", ...subject);
    } else {
      this.#openssl("req", ...key, "-out", `${file}.csr`, ...subject);
      writeFileSync(`${file}.ext`, `subjectAltName=DNS:${name}\n`);
      const days = expired ? ["-days", "-1"] : ["-days", "2"];
      this.#openssl(
        ...["x509", "-req", "-in", `${file}.csr`, "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"],
        ...["-out", `${file}.pem`, "-extfile", `${file}.ext`, ...days],
      );
    }
    return { key: readFileSync(`${file}.key`), cert: readFileSync(`${file}.pem`) };
  }

  /** A raw connection to the proxy. */
  async dial(): Promise<Socket> {
    const socket = connect({ port: this.port, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => undefined);
    await once(socket, "connect");
    return socket;
  }

  /** Sends bytes to the proxy, and resolves to all that comes back until it closes, or until `enough`. */
  async talk(bytes: string | Buffer, enough?: RegExp): Promise<string> {
    const socket = await this.dial();
    socket.write(bytes);
    return readAll(socket, enough).finally(() => socket.destroy());
  }

  curl(...args: readonly string[]): Promise<{ status: number; stdout: string; stderr: string }> {
    const all = ["-sS", "--max-time", "20", "--proxy", `http://127.0.0.1:${this.port}`, ...args];
    return new Promise((resolve) => {
      const env = { PATH: process.env["PATH"] ?? "" };
      execFile("curl", all, { env, maxBuffer: 64 << 20 }, (error, stdout, stderr) =>
        resolve({ status: error === null ? 0 : Number(error.code), stdout, stderr }),
      );
    });
  }

  async close(): Promise<void> {
    this.egress?.close();
    for (const socket of this.#sockets) socket.destroy();
    await Promise.all(this.#servers.map((server) => new Promise((done) => server.close(done))));
    if (this.#directory !== undefined) rmSync(this.#directory, { recursive: true, force: true });
  }

  #openssl(...args: readonly string[]): void {
    execFileSync("openssl", args, { cwd: this.#directory, stdio: ["ignore", "ignore", "ignore"] });
  }
}

export interface CertificateOptions {
  readonly expired?: boolean;
  /** Signed by an authority that the test does not know. */
  readonly foreign?: boolean;
}

/** Everything that arrives until the other side ends or closes, or until it matches. */
export function readAll(socket: Socket, enough?: RegExp): Promise<string> {
  return new Promise((resolve) => {
    let text = "";
    const done = () => resolve(text);
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (enough?.test(text) === true) done();
    });
    socket.once("end", done).once("close", done);
  });
}

/** Waits until something is so. */
export async function until(isSo: () => boolean, what: string): Promise<void> {
  await waitUntil(isSo).catch((cause: unknown) => {
    throw new Error(`waited too long until ${what}`, { cause });
  });
}

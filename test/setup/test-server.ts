import { writeFileSync } from "node:fs";
import { request as httpRequest, type IncomingHttpHeaders } from "node:http";
import { join } from "node:path";
import { parseConfig } from "../../src/core/config/index.js";
import { AuditLogger } from "../../src/guard/audit/index.js";
import { type RunningServer, type ServeOptions, serve } from "../../src/server/index.js";
import { type KeyScopes, openStore, type Store } from "../../src/server/store/index.js";
import { cleanUp, temporaryDirectory } from "./clean-up.js";

const SCOPES: KeyScopes = { roles: "all", readOnly: false, approve: false, admin: false };

export interface TestServerOptions {
  /** Settings of `server`, besides a free port. */
  readonly server?: object;
  /** Settings of `sandbox`, besides the state directory. */
  readonly sandbox?: object;
  /** YAML. */
  readonly policy?: string;
  readonly log?: ServeOptions["log"];
  readonly backend?: string;
  readonly onOverdue?: ServeOptions["onOverdue"];
}

/** What a request came to. */
export interface Answer<Body = Record<string, unknown>> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

/** A server that really listens, with a state directory, a log and keys of its own. */
export class TestServer {
  readonly stateDir = temporaryDirectory();
  #running: { readonly server: RunningServer; readonly audit: AuditLogger } | undefined;
  #store: Store | undefined;
  #options: TestServerOptions = {};
  /** The first key of all. */
  admin = "";

  static async open(options: TestServerOptions = {}): Promise<TestServer> {
    const testServer = new TestServer();
    cleanUp(() => testServer.close());
    await testServer.start(options);
    return testServer;
  }

  get auditDirectory(): string {
    return join(this.stateDir, "audit");
  }

  get server(): RunningServer {
    return this.#running!.server;
  }

  get url(): string {
    return this.server.url;
  }

  /** Starts it, again after `stop`, with the options of before unless there are others. */
  async start(options: TestServerOptions = this.#options): Promise<void> {
    this.#options = options;
    const config = await parseConfig({
      sandbox: { stateDir: this.stateDir, ...options.sandbox },
      server: { port: 0, ...options.server },
    });
    const audit = new AuditLogger({ directory: this.auditDirectory });
    await audit.open();
    const policyFile = join(this.stateDir, "policy.yaml");
    if (options.policy !== undefined) writeFileSync(policyFile, options.policy);
    const server = await serve({
      config,
      audit,
      auditDirectory: this.auditDirectory,
      log: options.log,
      backend: options.backend,
      onOverdue: options.onOverdue,
      ...(options.policy !== undefined && { policyFile }),
    }).catch(async (error: unknown) => {
      await audit.close();
      throw error;
    });
    this.#running = { server, audit };
    if (server.firstKey !== undefined) this.admin = server.firstKey.secret;
  }

  async stop(): Promise<void> {
    const running = this.#running;
    this.#running = undefined;
    await running?.server.stop();
    await running?.audit.close();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#store?.close();
  }

  /** The server's own database, as a second process would open it. */
  async store(): Promise<Store> {
    const { store = join(this.stateDir, "server", "store.db") } = (this.#options.server ?? {}) as {
      store?: string;
    };
    this.#store ??= await openStore({ url: store });
    return this.#store;
  }

  async key(org = "default", scopes: Partial<KeyScopes> = {}): Promise<{ id: string; secret: string }> {
    const store = await this.store();
    const { key, secret } = await store.apiKeys.create(org, {
      name: "test",
      scopes: { ...SCOPES, ...scopes },
    });
    return { id: key.id, secret };
  }

  /** A request with a key; `body` that is no bytes goes as JSON. */
  fetch(key: string | undefined, method: string, path: string, options: RequestInit = {}): Promise<Response> {
    const headers = new Headers(options.headers);
    if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
    return fetch(`${this.url}${path}`, { ...options, method, headers });
  }

  /** A request with exactly these headers, also those that fetch sets itself. */
  raw(
    method: string,
    path: string,
    headers: Record<string, string>,
    body?: string,
  ): Promise<{ status: number; headers: IncomingHttpHeaders; body: string }> {
    return new Promise((resolve, reject) => {
      const { hostname: host, port } = new URL(this.url);
      // As it is: a URL would tidy the path up.
      const request = httpRequest({ host, port, path, method, headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on("data", (piece: Buffer) => pieces.push(piece));
        response.on("error", reject);
        response.on("end", () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(pieces).toString("utf8"),
          }),
        );
      });
      request.on("error", reject);
      request.end(body);
    });
  }

  /** The same with JSON both ways. */
  // biome-ignore lint/suspicious/noExplicitAny: tests look at whatever came
  async call<Body = Record<string, any>>(
    key: string | undefined,
    method: string,
    path: string,
    json?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer<Body>> {
    const response = await this.fetch(key, method, path, {
      ...(json !== undefined && { body: JSON.stringify(json) }),
      headers: { ...(json !== undefined && { "content-type": "application/json" }), ...headers },
    });
    const text = await response.text();
    return {
      status: response.status,
      headers: response.headers,
      body: (text === "" ? {} : JSON.parse(text)) as Body,
    };
  }
}

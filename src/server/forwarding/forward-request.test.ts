import { execFileSync } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { SkerryClient } from "@skerry/client";
import { beforeAll, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { watchHeldBuffers } from "../../../test/setup/held-buffers.js";
import { connectMcp } from "../../../test/setup/mcp-http.js";
import { requires } from "../../../test/setup/requires.js";
import { createDatabase } from "../../../test/setup/test-databases.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";
import { FORWARDED_BY } from "../cluster/peers.js";

const MIB = 1024 * 1024;

/** Two servers on one PostgreSQL. The session `here` is the first one's. */
let front: TestServer;
let owner: TestServer;
let database: Awaited<ReturnType<typeof createDatabase>>;
let key: string;

requires("bubblewrap", "postgresql").describe("a request for another server's session", () => {
  beforeAll(async () => {
    database = await createDatabase();
    const server = { store: database.url, lease: "60s" };
    front = await TestServer.open({ server });
    owner = await TestServer.open({ server: { ...server, origins: ["https://never.example"] } });
    key = (await front.key()).secret;
    expect((await owner.call(key, "POST", "/v1/sessions", { sessionId: "there" })).status).toBe(201);
  });

  it("is answered as its owner answers it, whatever it asks", async () => {
    const ran = await front.call(key, "POST", "/v1/sessions/there/execute", {
      command: "echo a > f; cat f",
    });
    expect(ran).toMatchObject({ status: 200, body: { success: true, stdout: "a\n", sessionId: "there" } });
    const id = { "x-request-id": "asked-at-the-front" };
    for (const path of ["", "/files", "/files?path=none", "/contexts", "/snapshots", "/contexts/none"]) {
      const [here, there] = await Promise.all(
        [front, owner].map((testServer) =>
          testServer.call(key, "GET", `/v1/sessions/there${path}`, undefined, id),
        ),
      );
      expect([path, here!.status, here!.body]).toEqual([path, there!.status, there!.body]);
      expect(here!.headers.get("x-request-id")).toBe("asked-at-the-front");
      expect(here!.headers.get("content-security-policy")).toBe(
        there!.headers.get("content-security-policy"),
      );
    }
    const lists = await Promise.all(
      [front, owner].map((testServer) => testServer.call(key, "GET", "/v1/sessions")),
    );
    expect(lists[0]!.body).toEqual(lists[1]!.body);
    const renewed = await front.call(key, "POST", "/v1/sessions/there/renew", { ttlMs: 1e9 });
    expect((await owner.call(key, "GET", "/v1/sessions/there")).body).toEqual(renewed.body);
  });

  it("is decided about by the owner: its key, its scopes, its errors", async () => {
    const reader = (await front.key("default", { readOnly: true })).secret;
    const refused = await front.call(reader, "POST", "/v1/sessions/there/execute", { command: "true" });
    expect(refused).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
    const stranger = (await front.key("other")).secret;
    const unknown = await front.call(stranger, "GET", "/v1/sessions/there");
    expect(unknown).toMatchObject({ status: 404, body: { code: "SESSION_NOT_FOUND" } });
    const bad = await front.call(key, "POST", "/v1/sessions/there/execute", { nonsense: 1 });
    expect(bad).toMatchObject({ status: 400, body: { code: "INVALID_ARGUMENT" } });
    const page = { authorization: `Bearer ${key}`, origin: "https://evil.example" };
    const { host } = new URL(front.url);
    expect((await front.raw("GET", "/v1/sessions/there", { ...page, host })).status).toBe(403);
    // The front's own page was looked at there: the owner, which has never heard of it, does not ask again.
    const own = { ...page, origin: front.url, host };
    expect((await front.raw("GET", "/v1/sessions/there", own)).status).toBe(200);
  });

  it("is sent on once: one that came from a server already is told where to go", async () => {
    for (const by of ["0123456789abcdef01234567", "x", ""]) {
      const told = await front.call(key, "GET", "/v1/sessions/there", undefined, { [FORWARDED_BY]: by });
      expect(told).toMatchObject({
        status: 421,
        body: { code: "SESSION_ELSEWHERE", hint: `Ask ${owner.url}.` },
      });
    }
    // It opens nothing at the owner, either.
    const forged = { [FORWARDED_BY]: "0123456789abcdef01234567" };
    expect((await owner.call(undefined, "GET", "/v1/sessions/there", undefined, forged)).status).toBe(401);
    expect((await owner.call(key, "GET", "/v1/sessions/there", undefined, forged)).status).toBe(200);
  });

  it("reaches what goes on there: processes, and terminals over a WebSocket", async () => {
    const session = new SkerryClient({ url: front.url, apiKey: key }).sessions.get("there");
    const process = await session.processes.exec("echo on; exec sleep 600");
    for await (const event of process.follow()) {
      if (event.type === "stdout") await process.signal("SIGKILL");
      if (event.type === "exit") expect(event.result.signal).toBe("SIGKILL");
    }
    const terminal = await session.terminals.open({ rows: 24, columns: 80, argv: ["sh"] });
    const input = await terminal.connect();
    input.write("echo here-$((40 + 2)); exit 3\r");
    let seen = "";
    for await (const bytes of input) seen += Buffer.from(bytes).toString("utf8");
    expect(seen).toContain("here-42");
    expect(input.result).toMatchObject({ exitCode: 3 });
    // The front refuses what the owner would.
    const reader = (await front.key("default", { readOnly: true })).secret;
    const other = new SkerryClient({ url: front.url, apiKey: reader }).sessions.get("there");
    await expect(other.terminals.get(terminal.id).connect()).rejects.toMatchObject({ code: "FORBIDDEN" });
  });

  it("of an MCP client goes to the server that has its session, and then to the one that knows the client", async () => {
    const named = await connectMcp(front.url, key, { session: "there" });
    const ran = await named.call("run_code", { language: "bash", code: "echo mcp-$((40 + 2))" });
    expect(JSON.stringify(ran.content)).toContain("mcp-42");
    expect(named.errors).toEqual([]);
    const own = await connectMcp(owner.url, key);
    const listed = await front.fetch(key, "POST", "/mcp", {
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-session-id": own.transport.sessionId!,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: "at-the-front", method: "tools/list" }),
    });
    expect([listed.status, await listed.text()]).toEqual([200, expect.stringContaining("run_code")]);
    const unknown = await front.fetch(key, "DELETE", "/mcp", { headers: { "mcp-session-id": "x.y" } });
    expect(unknown.status).toBe(404);
  });

  it("streams events as they happen, and ends the program with its caller", async () => {
    const caller = new AbortController();
    const response = await front.fetch(key, "POST", "/v1/sessions/there/execute", {
      body: JSON.stringify({ command: "echo one; sleep 600" }),
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      signal: caller.signal,
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    let text = "";
    for await (const piece of response.body!) {
      text += Buffer.from(piece).toString("utf8");
      if (text.includes("event: stdout")) break;
    }
    expect(text).toContain('data: {"text":"one\\n"}');
    caller.abort();
    await waitUntil(async () => {
      const { items } = (await owner.call(key, "GET", "/v1/executions?state=running")).body;
      return items.length === 0;
    });
  });

  it("takes files of 50 MiB both ways without keeping them", async () => {
    const piece = randomBytes(MIB);
    const count = 50;
    const held = watchHeldBuffers();
    const path = "/v1/sessions/there/files/large.bin";
    const { status } = await upload(path, repeat(piece, count), {
      "content-type": "application/octet-stream",
    });
    expect(status).toBe(200);
    const hash = createHash("sha256");
    const response = await front.fetch(key, "GET", path);
    expect(response.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''large.bin");
    for await (const each of response.body!) hash.update(each);
    const most = held.peak();
    const expected = createHash("sha256");
    for (let index = 0; index < count; index++) expected.update(piece);
    expect(hash.digest("hex")).toBe(expected.digest("hex"));
    // Both servers and this caller are one process here.
    expect(most).toBeLessThan(40 * MIB);
  });

  it("that is refused in the middle of an upload has its answer", async () => {
    const type = { "content-type": "application/octet-stream" };
    const refused = await upload("/v1/sessions/there/files/..%2fout", repeat(Buffer.alloc(MIB), 20), type);
    expect(refused).toMatchObject({ status: 400, body: { code: "PATH_TRAVERSAL" } });
  });

  it("makes a session that no server has where it is asked for, and one of two that are made at once", async () => {
    const made = await front.call(key, "POST", "/v1/sessions/fresh/execute", { command: "echo here" });
    expect(made.body.stdout).toBe("here\n");
    const store = await front.store();
    const { server: id } = (await store.sessions.get("default", "fresh"))!;
    expect((await store.servers.get(id!))!.url).toBe(front.url);
    for (let round = 0; round < 5; round++) {
      const name = `raced-${round}`;
      const both = await Promise.all(
        [front, owner].map((testServer) =>
          testServer.call(key, "POST", `/v1/sessions/${name}/execute`, {
            command: "echo x >> f; wc -l < f",
          }),
        ),
      );
      // The loser of the race, whose body is read already, is told where to go.
      expect(both.every(({ status }) => status === 200 || status === 421)).toBe(true);
      expect(both.some(({ status }) => status === 200)).toBe(true);
      const count = both.filter(({ status }) => status === 200).length;
      const lines = await front.call(key, "GET", `/v1/sessions/${name}/files/f`).catch(() => undefined);
      expect(lines).toBeUndefined();
      const counted = await owner.call(key, "POST", `/v1/sessions/${name}/execute`, {
        command: "wc -l < f",
      });
      expect(counted.body.stdout).toBe(`${count}\n`);
    }
  });

  it("waits for its server to come back, and finds the session with its files", async () => {
    await owner.call(key, "POST", "/v1/sessions/there/execute", { command: "echo kept > kept" });
    await owner.stop();
    const away = await front.call(key, "GET", "/v1/sessions/there/files/kept");
    expect(away).toMatchObject({
      status: 503,
      body: { code: "SERVER_UNREACHABLE", message: "The server that has this session does not answer" },
    });
    expect(away.headers.get("retry-after")).toBe("5");
    const refused = await upload("/v1/sessions/there/files/x", repeat(Buffer.alloc(MIB), 20), {
      "content-type": "application/octet-stream",
    });
    expect(refused).toMatchObject({ status: 503, body: { code: "SERVER_UNREACHABLE" } });
    await owner.start();
    expect(await (await front.fetch(key, "GET", "/v1/sessions/there/files/kept")).text()).toBe("kept\n");
  });

  it("ends the session for everybody", async () => {
    await owner.call(key, "POST", "/v1/sessions", { sessionId: "gone" });
    const ended = await Promise.all([
      front.call(key, "DELETE", "/v1/sessions/gone"),
      owner.call(key, "DELETE", "/v1/sessions/gone"),
    ]);
    expect(ended.map(({ status }) => status).sort()).toEqual([200, 404]);
    for (const testServer of [front, owner])
      expect((await testServer.call(key, "GET", "/v1/sessions/gone")).body.code).toBe("SESSION_NOT_FOUND");
  });
});

requires("openssl", "postgresql").describe("servers with certificates", () => {
  const directory = temporaryDirectory();
  const [cert, tlsKey] = [join(directory, "cert.pem"), join(directory, "key.pem")];

  beforeAll(async () => {
    const name = ["-subj", "/CN=peer", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "1"];
    const files = ["-nodes", "-keyout", tlsKey, "-out", cert];
    execFileSync("openssl", ["req", "-x509", "-newkey", "rsa:2048", ...name, ...files], { stdio: "ignore" });
    database = await createDatabase();
    owner = await TestServer.open({ server: { store: database.url, tls: { cert, key: tlsKey } } });
    key = (await owner.key()).secret;
    const made = await securely("POST", "/v1/sessions", JSON.stringify({ sessionId: "there" }));
    expect(made).toBe(201);
  });

  const securely = (method: string, path: string, body?: string) =>
    new Promise<number>((resolve, reject) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
      const options = { method, headers, ca: readFileSync(cert) };
      const request = httpsRequest(`${owner.url}${path}`, options, (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      request.once("error", reject).end(body);
    });

  const askThrough = async (settings: object) => {
    front = await TestServer.open({ server: { store: database.url, ...settings } });
    try {
      return await front.call(key, "GET", "/v1/sessions/there");
    } finally {
      await front.close();
    }
  };

  it("send nothing on to one with an untrusted certificate", async () => {
    expect(await askThrough({})).toMatchObject({ status: 503, body: { code: "SERVER_UNREACHABLE" } });
  });

  it("are vouched for by server.peerCa", async () => {
    expect(await askThrough({ peerCa: cert })).toMatchObject({ status: 200, body: { sessionId: "there" } });
  });

  it("do not start with a file without certificates", async () => {
    const opening = TestServer.open({ server: { store: database.url, peerCa: tlsKey } });
    await expect(opening).rejects.toMatchObject({ code: "CONFIG_INVALID", hint: expect.any(String) });
  });

  it("do not start with PostgreSQL and an address that is none, unless they say where they are", async () => {
    const server = { store: database.url, host: "0.0.0.0", insecure: true };
    await expect(TestServer.open({ server })).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message: expect.stringContaining("0.0.0.0 is not an address that they can reach"),
      hint: expect.stringContaining("server.url"),
    });
    const named = await TestServer.open({ server: { ...server, url: "http://skerry-1.example:7070" } });
    const addresses = (await (await named.store()).servers.list()).map(({ url }) => url);
    expect(addresses).toContain("http://skerry-1.example:7070");
    const byName = { authorization: `Bearer ${key}`, host: "skerry-1.example:7070" };
    expect((await named.raw("GET", "/v1/sessions", byName)).status).toBe(200);
    await named.close();
  });
});

function* repeat(piece: Buffer, count: number): Generator<Buffer> {
  for (let index = 0; index < count; index++) yield piece;
}

/** Sends pieces to the front, and resolves to the answer. */
async function upload(
  path: string,
  pieces: Iterable<Buffer>,
  headers: Record<string, string>,
): Promise<{ status: number; body: unknown }> {
  const request = httpRequest(`${front.url}${path}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${key}`, ...headers },
  });
  const answered = new Promise<IncomingMessage>((resolve, reject) => {
    request.once("response", resolve).once("error", reject);
  });
  // A client that has its answer need not read the rest.
  const sent = pipeline(Readable.from(pieces), request).catch(() => undefined);
  const response = await answered;
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  request.destroy();
  await sent;
  return { status: response.statusCode ?? 0, body: JSON.parse(Buffer.concat(parts).toString("utf8")) };
}

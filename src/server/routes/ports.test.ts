import { readFileSync } from "node:fs";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect as connectSocket } from "node:net";
import { text } from "node:stream/consumers";
import { beforeAll, describe, expect, it } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { SocketClient } from "../../../test/setup/socket-client.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";

const SERVER = readFileSync(new URL("../../../test/setup/hostile-server.py", import.meta.url), "utf8");
const POLICY = `
policies:
  tools:
    shell_exec: { risk_level: medium }
    file_read: { risk_level: low }
  agent_roles:
    worker: { tools: [shell_exec, file_read] }
    reader: { tools: [file_read] }
`;
const SANDBOX = { network: { allowLocalBinding: true } };

let server: TestServer;
let key: string;

beforeAll(async () => {
  // One test needs a session in which nothing runs yet.
  server = await TestServer.open({ sandbox: SANDBOX, server: { sessions: { startAhead: 0 } } });
  key = (await server.key()).secret;
  await server.call(key, "POST", "/v1/sessions", { sessionId: "s" });
  const started = await server.call(key, "POST", "/v1/sessions/s/processes", {
    argv: ["python3", "-c", SERVER],
  });
  expect(started.status).toBe(201);
  const at = `/v1/sessions/s/processes/${started.body.id}/logs?waitMs=30000`;
  expect((await server.call(key, "GET", at)).body.items[0].text).toBe("listening\n");
});

const at = (path: string, port = 8000) => `/v1/sessions/s/ports/${port}${path}`;
const host = () => new URL(server.url).host;

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A request with exactly these headers, besides the key. */
function ask(
  path: string,
  { method = "GET", headers = {}, body = "", by = key, port = 8000 } = {},
): Promise<Answer> {
  const all = { host: host(), authorization: `Bearer ${by}`, connection: "close", ...headers };
  const length = body === "" || "transfer-encoding" in headers ? {} : { "content-length": body.length };
  return server.raw(method, at(path, port), { ...all, ...length } as Record<string, string>, body);
}

const failed = (code: string, status: number) => ({
  status,
  body: expect.stringContaining(`"code":"${code}"`),
});
const tunnel = (by = key, port = 8000, session = "s") =>
  SocketClient.open(`${server.url}/v1/sessions/${session}/tunnels/${port}`, { key: by });

const real = requires("bubblewrap", "python3");

real.describe("a request to a port inside", () => {
  it("is passed on with its method, address, type and body, and without what is the caller's own", async () => {
    const secret = {
      cookie: "session=1",
      "x-skerry-role": "admin",
      "x-request-id": "mine",
      "x-forwarded-for": "10.0.0.7",
      "x-hop": "1",
      connection: "close, X-Hop, Content-Length",
      te: "trailers",
      "proxy-authorization": "Basic x",
      "sec-websocket-protocol": `skerry.key.${key}`,
      referer: "https://console.example/secret",
      // What gateways say of a caller: no list of such names would have them all.
      "x-ms-client-principal-name": "ada@example.org",
      "cf-access-authenticated-user-email": "ada@example.org",
      "x-authenticated-user": "ada",
      "remote-user": "ada",
      "x-webauth-user": "ada",
      "x-pomerium-jwt-assertion": "ey.J.x",
      "tailscale-user-login": "ada@example.org",
      "x-consumer-username": "ada",
      "x-client-cert": "MII",
      traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
      "x-own": "of nobody here knows what",
    };
    const sent = { "content-type": "application/x-www-form-urlencoded", accept: "a/b", "if-match": '"1"' };
    for (const method of ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const path = "/a%2Fb/../c;d?e=%20f&g=//h";
      const { status, body } = await ask(path, { method, headers: { ...secret, ...sent }, body: "a=b" });
      expect(status).toBe(200);
      const [first, ...lines] = body.split("\r\n");
      expect(first).toBe(`${method} ${path} HTTP/1.1`);
      expect(lines.sort()).toEqual(
        [
          "",
          "a=b",
          "accept: a/b",
          "connection: close",
          "content-length: 3",
          "content-type: application/x-www-form-urlencoded",
          "host: localhost:8000",
          'if-match: "1"',
        ].sort(),
      );
    }
    const chunked = { "transfer-encoding": "chunked" };
    for (const method of ["POST", "GET", "DELETE"]) {
      const { body } = await ask("/x", { method, headers: chunked, body: "a=b" });
      expect(body.toLowerCase()).toContain("transfer-encoding: chunked\r\n");
      expect(body.endsWith("\r\n\r\n3\r\na=b\r\n0\r\n\r\n")).toBe(true);
    }
    expect((await ask("/x", { method: "POST" })).body).toContain("content-length: 0\r\n");
    const head = await ask("/hostile", { method: "HEAD" });
    expect([head.status, head.headers["content-length"], head.body]).toEqual([200, "2", ""]);
  });

  it("is answered with nothing that could act on this server's origin", async () => {
    const { status, headers, body } = await ask("/hostile", { headers: { "x-request-id": "ours" } });
    const { date, ...rest } = headers;
    expect(typeof date).toBe("string");
    expect({ status, body, headers: rest }).toEqual({
      status: 200,
      body: "ok",
      headers: {
        "cache-control": "no-store",
        connection: "close",
        "content-length": "2",
        "content-security-policy": "sandbox",
        "content-type": "text/html",
        etag: '"1"',
        "referrer-policy": "no-referrer",
        "x-content-type-options": "nosniff",
        "x-skerry-from": "inside",
        "x-plain": "kept",
        "x-request-id": "ours",
      },
    });
  });

  it.each([
    ["/redirect", 302, ""],
    ["/old", 404, "not here"],
    ["/empty", 204, ""],
    ["/early", 200, "ok"],
    ["/more", 200, "ok"],
  ])("has the answer of %s as it is", async (path, status, body) => {
    const answer = await ask(path);
    expect([answer.status, answer.body]).toEqual([status, body]);
    if (status === 302) expect(answer.headers.location).toBe("http://169.254.169.254/x?y=z");
  });

  it.each([
    "/garbage",
    "/nothing",
    "/half-head",
    "/big-head",
    "/many-headers",
    "/both",
    "/two-lengths",
    "/split",
    "/upgrade",
    "/status-099",
    "/status-999",
  ])("is PORT_FAILED for %s, which is no answer", async (path) => {
    expect(await ask(path)).toMatchObject(failed("PORT_FAILED", 502));
  });

  it("that is answered by half is cut off, so that it is not taken for whole", async () => {
    await expect(ask("/cut")).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  it("is streamed, and ends inside when the caller leaves", async () => {
    const isThere = async (file: string) =>
      (await server.fetch(key, "GET", `/v1/sessions/s/files/${file}`)).status === 200;
    const call = (path: string) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const headers = { authorization: `Bearer ${key}` };
        const request = httpRequest(`${server.url}${at(path)}`, { agent: false, headers }, resolve);
        request.on("error", reject);
        request.end();
        if (path === "/stall") void waitUntil(() => isThere("came"), 20_000).then(() => request.destroy());
      });
    const pieces = await call("/pieces");
    const [first] = (await pieces.iterator({ destroyOnReturn: true }).next()).value.toString().split("\n");
    expect(first).toBe("one");
    pieces.destroy();
    await expect(call("/stall")).rejects.toMatchObject({ code: "ECONNRESET" });
    await waitUntil(() => isThere("left"));
  });

  it("needs a listener, something to run, and a port", async () => {
    expect(await ask("/", { port: 8001 })).toMatchObject(failed("PORT_FAILED", 502));
    expect(await ask("/", { port: 3128 })).toMatchObject(failed("INVALID_ARGUMENT", 400));
    expect(await ask("/", { port: 70_000 })).toMatchObject(failed("INVALID_ARGUMENT", 400));
    await server.call(key, "POST", "/v1/sessions", { sessionId: "idle" });
    expect(await server.call(key, "GET", "/v1/sessions/idle/ports/8000/")).toMatchObject({
      status: 409,
      body: { code: "SANDBOX_NOT_RUNNING" },
    });
    await expect(tunnel(key, 8001)).rejects.toMatchObject({ status: 502, body: { code: "PORT_FAILED" } });
    await expect(tunnel(key, 8000, "idle")).rejects.toMatchObject({ status: 409 });
    const upgrade = { upgrade: "websocket", connection: "upgrade" };
    expect(await ask("/", { headers: upgrade })).toMatchObject(failed("INVALID_ARGUMENT", 400));
  });

  it("is recorded when a key first uses a port", async () => {
    const other = await server.key();
    for (let count = 0; count < 3; count++) expect((await ask("/x", { by: other.secret })).status).toBe(200);
    const { items } = (await server.call(key, "GET", "/v1/audit?eventType=port_opened&sessionId=s")).body;
    expect(items.filter((each: { agent_id: string }) => each.agent_id === `key:${other.id}`)).toMatchObject([
      { details: { port: 8000, request_id: expect.any(String) } },
    ]);
  });

  it("is a tool call of its role, which a policy decides about", async () => {
    const ruled = await TestServer.open({ policy: POLICY, sandbox: SANDBOX });
    const as = async (...roles: string[]) => (await ruled.key("default", { roles })).secret;
    const [reader, worker, all] = [await as("reader"), await as("worker"), (await ruled.key()).secret];
    try {
      await ruled.call(all, "POST", "/v1/sessions", { sessionId: "s" });
      await ruled.call(all, "POST", "/v1/sessions/s/execute", { command: "true", role: "worker" });
      const get = (by: string) => ruled.call(by, "GET", at("/"));
      expect(await get(reader)).toMatchObject({ status: 403, body: { code: "POLICY_DENIED" } });
      expect(await get(worker)).toMatchObject({ status: 502, body: { code: "PORT_FAILED" } });
      const { items } = (await ruled.call(all, "GET", "/v1/audit?eventType=port_opened")).body;
      expect(items).toMatchObject([{ role: "worker", details: { port: 8000 } }]);
      const denied = (await ruled.call(all, "GET", "/v1/audit?result=denied")).body.items;
      expect(denied).toMatchObject([{ role: "reader", tool: "shell_exec", command: "reach port 8000" }]);
    } finally {
      await ruled.close();
    }
  });
});

real.describe("a smuggled request", () => {
  /** Bytes on a connection of their own; resolves to all that came back. */
  const send = async (...lines: string[]) => {
    const { hostname, port } = new URL(server.url);
    const socket = connectSocket(Number(port), hostname);
    socket.write(lines.join("\r\n"));
    return text(socket);
  };
  const heads = async () => (await server.fetch(key, "GET", "/v1/sessions/s/files/heads")).text();
  const to = (path: string, method = "POST") => `${method} ${at(path)} HTTP/1.1`;
  const named = () => [`Host: ${host()}`, `Authorization: Bearer ${key}`];

  it.each([
    ["a length and chunks", ["Content-Length: 4", "Transfer-Encoding: chunked", "", "0", "", "GET /x"]],
    ["two lengths", ["Content-Length: 0", "Content-Length: 30", "", "GET /smuggled HTTP/1.1"]],
    ["chunks that are not the last", ["Transfer-Encoding: chunked, identity", "", "0", "", ""]],
    ["chunks by another name", ["Transfer-Encoding: xchunked", "", "0", "", ""]],
    ["a length with a sign", ["Content-Length: +4", "", "abcd"]],
    ["a space before the colon", ["Content-Length : 4", "", "abcd"]],
    ["a header on two lines", ["X-A: 1", " Transfer-Encoding: chunked", "", "0", "", ""]],
    ["a bare line feed", ["X-A: 1\nTransfer-Encoding: chunked", "", "0", "", ""]],
    ["a chunk that is no number", ["Transfer-Encoding: chunked", "", "zz", "", ""]],
  ])("is refused, and nothing of it gets inside: %s", async (_, lines) => {
    const answer = await send(to("/smuggler"), ...named(), ...lines, "");
    expect(answer).toMatch(/^HTTP\/1\.1 (400|502)/);
    expect(await heads()).not.toContain("smuggled");
  });

  it("that hides behind an allowed one has to show a key itself", async () => {
    const answer = await send(
      to("/first"),
      ...named(),
      "Content-Length: 0",
      "",
      "GET /v1/sessions HTTP/1.1",
      `Host: ${host()}`,
      "Connection: close",
      "",
      "",
    );
    expect(answer.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 200", "HTTP/1.1 401"]);
  });

  it("is no address or header with a line in it", async () => {
    for (const path of ["/a b", "/a\tb", "/a%0d%0aX: 1 b"])
      expect(await send(`GET ${at(path)} HTTP/1.1`, ...named(), "Connection: close", "", "")).toMatch(
        /^HTTP\/1\.1 400/,
      );
    const encoded = await ask("/a%0d%0aX-Evil:%201");
    expect(encoded.body).toMatch(/^GET \/a%0d%0aX-Evil:%201 HTTP\/1\.1\r\n/);
  });
});

real.describe("a tunnel to a port inside", () => {
  it("carries the bytes of one connection, both ways, until one side ends", async () => {
    const client = await tunnel();
    const bytes = Buffer.alloc(300_000, "\0abc→");
    for (let start = 0; start < bytes.length; start += 70_000)
      client.send(bytes.subarray(start, start + 70_000));
    await waitUntil(() => client.received === bytes.length);
    expect(client.bytes.equals(bytes)).toBe(true);
    client.socket.send("text");
    expect(await client.message("error")).toMatchObject({ code: "INVALID_ARGUMENT" });
    client.socket.close();
    await client.closed;

    const http = await tunnel();
    http.send("GET /old HTTP/1.0\r\n\r\n");
    expect(await http.closed).toBe(1000);
    expect(http.text).toBe("HTTP/1.0 404 Not Found\r\n\r\nnot here");
  });

  it("is for keys that may write, of its org", async () => {
    const readOnly = (await server.key("default", { readOnly: true })).secret;
    const other = (await server.key("other")).secret;
    await expect(tunnel(readOnly)).rejects.toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
    await expect(tunnel(other)).rejects.toMatchObject({ status: 404, body: { code: "SESSION_NOT_FOUND" } });
    expect((await ask("/", { by: readOnly })).status).toBe(403);
    expect((await ask("/", { by: other })).status).toBe(404);
  });

  it("is one of so many of a session, and each gives its place back", async () => {
    const open: SocketClient[] = [];
    // One key alone may not have so many requests at once.
    for (let count = 0; count < 4; count++) {
      const { secret } = await server.key();
      open.push(...(await Promise.all(Array.from({ length: 32 }, () => tunnel(secret)))));
    }
    await expect(tunnel()).rejects.toMatchObject({ status: 429, body: { code: "RATE_LIMITED" } });
    await Promise.all(open.map((client) => client.drop()));
    await waitUntil(async () => (await ask("/x")).status === 200);
  });

  it("ends with its session", async () => {
    await server.call(key, "POST", "/v1/sessions", { sessionId: "gone" });
    const listen =
      "import socket,time\ns = socket.create_server(('127.0.0.1', 8000))\nprint('on', flush=True)\nc, _ = s.accept()\ntime.sleep(1000)";
    const { id } = (
      await server.call(key, "POST", "/v1/sessions/gone/processes", { language: "python", code: listen })
    ).body;
    await server.call(key, "GET", `/v1/sessions/gone/processes/${id}/logs?waitMs=30000`);
    const client = await tunnel(key, 8000, "gone");
    expect((await server.call(key, "DELETE", "/v1/sessions/gone")).status).toBe(200);
    expect(await client.closed).toBe(1001);
  });
});

describe("ports", () => {
  it("need the ports option", async () => {
    const closed = await TestServer.open();
    await closed.call(closed.admin, "POST", "/v1/sessions", { sessionId: "s" });
    expect(await closed.call(closed.admin, "GET", at("/"))).toMatchObject({
      status: 501,
      body: { code: "UNSUPPORTED", hint: "Set sandbox.network.allowLocalBinding to true." },
    });
    await closed.close();
  });
});

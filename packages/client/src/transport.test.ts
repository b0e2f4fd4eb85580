import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { SkerryClient } from "./index.js";

/** What Node.js says of certificates, and a word of what helps. */
const DISTRUST = [
  ["DEPTH_ZERO_SELF_SIGNED_CERT", "NODE_EXTRA_CA_CERTS"],
  ["SELF_SIGNED_CERT_IN_CHAIN", "NODE_EXTRA_CA_CERTS"],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "NODE_EXTRA_CA_CERTS"],
  ["CERT_HAS_EXPIRED", "Renew it"],
  ["ERR_TLS_CERT_ALTNAME_INVALID", "a name in the url"],
] as const;

/** A server that answers as it is told to, one request after the other. */
type Answer = (request: IncomingMessage, response: ServerResponse) => void;
let answers: Answer[] = [];
let seen: { method: string; url: string; headers: IncomingMessage["headers"]; body: string }[] = [];
const http = createServer(async (request, response) => {
  let body = "";
  for await (const piece of request) body += String(piece);
  const { method = "", url = "", headers } = request;
  seen.push({ method, url, headers, body });
  const answer = answers.shift();
  if (answer === undefined) response.writeHead(500).end();
  else answer(request, response);
});

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_, response) =>
    void response
      .writeHead(status, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(body));
const failure = (status: number, code: string, headers: Record<string, string> = {}): Answer =>
  json(
    status,
    { code, message: "no", hint: "do this", retryable: [429, 502, 503].includes(status), requestId: "r-1" },
    headers,
  );
const drop: Answer = ({ socket }) => socket.destroy();

let client: SkerryClient;
beforeAll(async () => {
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  const { port } = http.address() as AddressInfo;
  client = new SkerryClient({ url: `http://127.0.0.1:${port}`, apiKey: "sk_test" });
});
afterAll(() => {
  http.closeAllConnections();
  http.close();
});
beforeEach(() => {
  answers = [];
  seen = [];
});
const requests = () => seen.map(({ method, url }) => `${method} ${url}`);

describe("what is safe to repeat", () => {
  it("is repeated when the connection is lost, or the server cannot do it now", async () => {
    answers = [drop, failure(503, "STORE_FAILED"), json(200, { sessionId: "a" })];
    expect(await client.sessions.get("a").info()).toEqual({ sessionId: "a" });
    expect(requests()).toEqual(["GET /v1/sessions/a", "GET /v1/sessions/a", "GET /v1/sessions/a"]);
  });

  it("includes making a session: with one key, however often", async () => {
    answers = [drop, json(201, { sessionId: "a" })];
    expect((await client.sessions.create({ role: "reader" })).sessionId).toBe("a");
    const [first, second] = seen.map(({ body }) => JSON.parse(body));
    expect(first).toEqual({ role: "reader", idempotencyKey: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(second).toEqual(first);
  });

  it("includes an end whose answer was lost", async () => {
    answers = [drop, failure(404, "SESSION_NOT_FOUND")];
    await client.sessions.get("a").delete();
    answers = [failure(404, "SESSION_NOT_FOUND")];
    await expect(client.sessions.get("a").delete()).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  it("is given up after the retries", async () => {
    answers = [drop, drop, drop, drop, json(200, {})];
    await expect(client.sessions.get("a").info()).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    expect(seen).toHaveLength(4);
  });
});

describe("what is not safe to repeat", () => {
  it("is sent once, whatever comes of it", async () => {
    const session = client.sessions.get("a");
    for (const answer of [drop, failure(503, "STORE_FAILED"), failure(502, "SANDBOX_LOST")]) {
      answers = [answer, json(200, { stdout: "twice" })];
      seen = [];
      await expect(session.exec(["make"])).rejects.toThrow();
      expect(requests()).toEqual(["POST /v1/sessions/a/execute"]);
    }
  });

  it("is sent again where the server says that it did not begin", async () => {
    answers = [
      failure(429, "RATE_LIMITED", { "retry-after": "0" }),
      failure(503, "SERVER_STOPPING", { "retry-after": "0" }),
      json(200, { stdout: "once" }),
    ];
    expect(await client.sessions.get("a").exec(["make"])).toEqual({ stdout: "once" });
    expect(seen).toHaveLength(3);
  });

  it.each(DISTRUST)("is a server whose certificate is not trusted: %s", async (code, hint) => {
    let asked = 0;
    const untrusting = new SkerryClient({
      url: "https://x.example",
      apiKey: "sk_test",
      fetch: () => {
        asked++;
        const cause = Object.assign(new Error("no"), { code });
        return Promise.reject(new TypeError("fetch failed", { cause }));
      },
    });
    await expect(untrusting.sessions.get("a").info()).rejects.toMatchObject({
      code: "SERVER_UNREACHABLE",
      message: `The certificate of the server at https://x.example is not trusted (${code})`,
      hint: expect.stringContaining(hint),
      retryable: false,
    });
    expect(asked).toBe(1);
  });

  it("is an upload of a stream, which is gone by then", async () => {
    answers = [failure(429, "RATE_LIMITED", { "retry-after": "0" }), json(200, { path: "f" })];
    const stream = new Blob(["x"]).stream();
    await expect(client.sessions.get("a").files.write("f", stream)).rejects.toMatchObject({
      code: "RATE_LIMITED",
    });
    expect(seen).toHaveLength(1);
  });
});

describe("a request", () => {
  it("fails with what the server says", async () => {
    answers = [failure(403, "POLICY_DENIED")];
    await expect(client.sessions.get("a").exec("rm -rf /")).rejects.toMatchObject({
      name: "ApiError",
      code: "POLICY_DENIED",
      message: "no",
      hint: "do this",
      status: 403,
      requestId: "r-1",
    });
  });

  it.each([
    ["a page of something else", json(200, undefined)],
    ["an error of something else", json(502, { error: "bad gateway" })],
  ])("that is answered by %s says that this is no server", async (_, answer) => {
    answers = [answer, answer, answer, answer];
    await expect(client.sessions.get("a").info()).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
  });

  it("does not send its key along with a redirect", async () => {
    answers = [json(307, {}, { location: "http://127.0.0.1:1/elsewhere" })];
    await expect(client.sessions.get("a").exec("true")).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
    expect(seen[0]?.headers.authorization).toBe("Bearer sk_test");
  });

  it("can be cancelled, also while it waits for its next try", async () => {
    answers = [failure(429, "RATE_LIMITED", { "retry-after": "30" })];
    const controller = new AbortController();
    const waiting = client.sessions.get("a").info({ signal: controller.signal });
    setTimeout(() => controller.abort(), 50);
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
    expect(seen).toHaveLength(1);
  });

  it.each(["", ".", ".."])("refuses %j as a name, which would be another address", async (name) => {
    await expect(client.sessions.get("a").contexts.get(name).run("1")).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    expect(seen).toEqual([]);
  });

  it("has names and paths as parts of the address", async () => {
    answers = [json(200, { path: "x" })];
    await client.sessions.get("a b/c").files.write("./d?/é#.txt", "x");
    expect(requests()).toEqual(["PUT /v1/sessions/a%20b%2Fc/files/d%3F/%C3%A9%23.txt"]);
    await expect(client.sessions.get("a").files.readBytes("x/../../b")).rejects.toMatchObject({
      code: "PATH_TRAVERSAL",
    });
  });
});

it.each([
  ["an address of nothing", { url: "ftp://x", apiKey: "k" }],
  ["a key that no header takes", { url: "http://x", apiKey: "a\nb" }],
  ["a number of retries that is none", { url: "http://x", apiKey: "k", retries: -1 }],
])("refuses %s", (_, options) => {
  expect(() => new SkerryClient(options)).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});

describe("events", () => {
  const events =
    (...texts: string[]): Answer =>
    (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const text of texts) response.write(text);
      response.end();
    };

  it("come in their order, cut wherever the network cuts them", async () => {
    answers = [
      events(
        'event: execution\ndata: {"executionId":"e","sessionId":"a"}\n\nevent: star',
        'ted\ndata: {}\n\n: still here\n\nevent: stdout\ndata: {"text":"é',
        '"}\n\nevent: later\ndata: {}\n\nevent: exit\ndata: {"success":true}\n\n',
      ),
    ];
    const came: unknown[] = [];
    for await (const event of client.sessions.get("a").exec(["make"])) came.push(event);
    expect(came).toEqual([
      { type: "execution", executionId: "e", sessionId: "a" },
      { type: "started" },
      { type: "stdout", text: "é", data: new TextEncoder().encode("é") },
      { type: "exit", result: { success: true } },
    ]);
    expect(seen[0]?.headers.accept).toBe("text/event-stream");
  });

  it("that end without an exit are a lost connection", async () => {
    answers = [events('event: stdout\ndata: {"text":"x"}\n\n')];
    const loop = async () => {
      for await (const _ of client.sessions.get("a").exec(["make"]));
    };
    await expect(loop()).rejects.toMatchObject({ code: "SERVER_UNREACHABLE" });
  });

  it("tell of a failure as an error", async () => {
    answers = [events('event: error\ndata: {"code":"SANDBOX_LOST","message":"gone","requestId":"r"}\n\n')];
    const loop = async () => {
      for await (const _ of client.sessions.get("a").exec(["make"]));
    };
    await expect(loop()).rejects.toMatchObject({ code: "SANDBOX_LOST", requestId: "r" });
  });

  it("come at the end when the result was asked for first", async () => {
    const result = { stdout: "out", stderr: "", results: [{ data: {}, isMain: true }] };
    answers = [json(200, result)];
    const execution = client.sessions.get("a").exec(["make"]);
    await execution;
    const came: unknown[] = [];
    for await (const event of execution) came.push(event);
    expect(came).toEqual([
      { type: "stdout", text: "out", data: new TextEncoder().encode("out") },
      { type: "result", result: result.results[0] },
      { type: "exit", result },
    ]);
    expect(seen).toHaveLength(1);
  });
});

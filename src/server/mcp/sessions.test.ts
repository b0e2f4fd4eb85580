import { afterEach, beforeAll, expect, it } from "vitest";
import { printedIn, processesWith, textOf } from "../../../test/e2e/mcp-client.js";
import { connectMcp, type McpConnectOptions } from "../../../test/setup/mcp-http.js";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { uniqueSeconds } from "../../core/testing/unique-seconds.js";
import { waitUntil } from "../../kit/wait-until.js";

const real = requires("bubblewrap");
const LONG_MS = 60_000;
const ORIGIN = "https://console.example.com";
let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await TestServer.open({ server: { origins: [ORIGIN], limits: { body: "64kb" } } });
  key = (await server.key()).secret;
});

const connect = (options?: McpConnectOptions, secret = key) => connectMcp(server.url, secret, options);
const INITIALIZE = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
const ACCEPT = { accept: "application/json, text/event-stream" };

/** Names of an org's sessions. */
async function namesOf(secret: string): Promise<string[]> {
  const { items } = (await server.call(secret, "GET", "/v1/sessions")).body;
  return items.map(({ sessionId }: { sessionId: string }) => sessionId).sort();
}

/** A raw message; the answer is JSON, events, or nothing. */
async function post(sent: unknown, headers: Record<string, string> = {}, secret = key, at = server) {
  const response = await at.fetch(secret, "POST", "/mcp", {
    body: typeof sent === "string" ? sent : JSON.stringify(sent),
    headers: { "content-type": "application/json", ...ACCEPT, ...headers },
  });
  const text = await response.text();
  const told = [...text.matchAll(/^data: (\{.*)$/gm)].map(({ 1: data }) => JSON.parse(data!));
  const body = text.startsWith("{") ? JSON.parse(text) : told[0];
  return { status: response.status, headers: response.headers, body, told };
}

real.describe("the session of an MCP client", () => {
  it("is the one that it names, by header or in its address, made if there is none, and kept", async () => {
    const first = await connect({ session: "named" });
    await first.call("file_write", { path: "note", content: "here" });
    await first.transport.terminateSession();
    const second = await connect({ query: "?session=named" });
    expect(printedIn(await second.call("file_read", { path: "note" }))).toBe("here");
    const umlaut = await connect({ query: "?session=%C3%BCber" });
    expect(textOf(await umlaut.call("file_list"))).toBe("0 entries");
    await second.transport.terminateSession();
    await umlaut.transport.terminateSession();
    expect(await namesOf(key)).toEqual(["named", "über"]);
    for (const name of ["named", "%C3%BCber"]) await server.call(key, "DELETE", `/v1/sessions/${name}`);
  });

  it("lives on while a client is connected, by as long again as it was given", async () => {
    const made = await server.call(key, "POST", "/v1/sessions", { sessionId: "prolonged", ttlMs: 20_000 });
    await connect({ session: "prolonged" });
    const now = async () => (await server.call(key, "GET", "/v1/sessions/prolonged")).body;
    await waitUntil(async () => (await now()).renewedAt !== made.body.renewedAt, LONG_MS);
    const { renewedAt, expiresAt } = await now();
    const lifeMs = Date.parse(expiresAt) - Date.parse(renewedAt);
    expect([lifeMs > 10_000, lifeMs <= 20_000]).toEqual([true, true]);
    // What another client has given it stays.
    await server.call(key, "POST", "/v1/sessions/prolonged/renew", { ttlMs: null });
    expect((await now()).expiresAt).toBeUndefined();
    await server.call(key, "DELETE", "/v1/sessions/prolonged");
  });

  it("is one of its own without a name, and goes with the client's goodbye", async () => {
    const { call, transport } = await connect();
    await call("shell_exec", { command: "echo 1 > f" });
    expect(await namesOf(key)).toEqual([expect.stringMatching(/^mcp-[0-9a-f]{16}$/)]);
    const id = transport.sessionId!;
    await transport.terminateSession();
    expect(await namesOf(key)).toEqual([]);
    expect(await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { "mcp-session-id": id })).toMatchObject({
      status: 404,
      body: { code: "NOT_FOUND" },
    });
  });

  it.each([
    ["two names", "?session=a", { "x-skerry-session": "b" }, "INVALID_ARGUMENT"],
    ["two roles", "?role=a", { "x-skerry-role": "b" }, "INVALID_ARGUMENT"],
    ["a name of no ASCII in the header", "", { "x-skerry-session": "\u00fcber" }, "INVALID_ARGUMENT"],
    ["a header without a name", "", { "x-skerry-session": "" }, "INVALID_ARGUMENT"],
    ["a slash in the name", "?session=a%2Fb", {}, "SESSION_NAME_INVALID"],
    ["something else in the address", "?sesion=a", {}, "INVALID_ARGUMENT"],
  ])("is not made of %s", async (_, query, headers, code) => {
    const response = await server.fetch(key, "POST", `/mcp${query}`, {
      body: JSON.stringify(INITIALIZE),
      headers: { "content-type": "application/json", ...ACCEPT, ...headers },
    });
    expect([response.status, await response.json()]).toMatchObject([400, { code }]);
    expect(await namesOf(key)).toEqual([]);
  });

  it("has the role that the key may have, and no other", async () => {
    const coder = (await server.key("default", { roles: ["coder", "tester"] })).secret;
    const wrong = await post(INITIALIZE, { "x-skerry-role": "admin" }, coder);
    expect(wrong).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
    const roleOf = async (options: McpConnectOptions) => {
      const { call } = await connect({ session: "roles", ...options }, coder);
      await call("file_list");
      return (await server.call(key, "GET", "/v1/audit?sessionId=roles&limit=1")).body.items[0].role;
    };
    expect([await roleOf({}), await roleOf({ role: "tester" })]).toEqual(["coder", "tester"]);
    // A session of a key with more does not give more.
    await server.call(key, "POST", "/v1/sessions", { sessionId: "admins", role: "admin" });
    const inside = await post(INITIALIZE, { "x-skerry-session": "admins" }, coder);
    expect(inside).toMatchObject({ status: 403, body: { code: "FORBIDDEN" } });
    for (const name of ["roles", "admins"]) await server.call(key, "DELETE", `/v1/sessions/${name}`);
  });

  it("is known to the key that made it only, whatever the other one may do", async () => {
    const other = (await server.key("other")).secret;
    const { transport, call } = await connect();
    const id = { "mcp-session-id": transport.sessionId! };
    const strange = { status: 404, body: { code: "NOT_FOUND", message: "There is no such MCP session" } };
    for (const secret of [server.admin, other]) {
      expect(await post({ jsonrpc: "2.0", id: 1, method: "ping" }, id, secret)).toMatchObject(strange);
      for (const method of ["GET", "DELETE"]) {
        const answer = await server.call(secret, method, "/mcp", undefined, {
          accept: "text/event-stream",
          ...id,
        });
        expect(answer).toMatchObject(strange);
      }
    }
    expect(textOf(await call("file_list"))).toBe("0 entries");
    const unknown = { "mcp-session-id": "8e6d4b52-0000-4000-8000-000000000000" };
    expect(await post({ jsonrpc: "2.0", id: 1, method: "ping" }, unknown)).toMatchObject(strange);
    expect(
      await post({ jsonrpc: "2.0", id: 1, method: "ping" }, { "mcp-session-id": "\u00ff" }),
    ).toMatchObject(strange);
  });

  it("ends with its key: what it runs is killed, and its stream closed", async () => {
    const revoked = await server.key("lost");
    const observer = (await server.key("lost")).secret;
    const { client, call } = await connect({}, revoked.secret);
    const seconds = uniqueSeconds();
    const running = call("shell_exec", { command: `sleep ${seconds}`, timeoutMs: 600_000 });
    running.catch(() => undefined);
    await waitUntil(() => processesWith(seconds).length > 0, LONG_MS);
    await (await server.store()).apiKeys.revoke("lost", revoked.id);
    await waitUntil(() => processesWith(seconds).length === 0, LONG_MS);
    await waitUntil(async () => (await namesOf(observer)).length === 0);
    await expect(client.listTools()).rejects.toThrow(/UNAUTHENTICATED/);
  });

  it("is made again for a client whose session was deleted", async () => {
    const { call, transport } = await connect({ session: "deleted" });
    await call("file_write", { path: "old", content: "" });
    await server.call(key, "DELETE", "/v1/sessions/deleted");
    await expect(call("file_list")).rejects.toMatchObject({ code: 404 });
    expect(transport.sessionId).toBeDefined();
    const again = await connect({ session: "deleted" });
    expect(textOf(await again.call("file_list"))).toBe("0 entries");
    await server.call(key, "DELETE", "/v1/sessions/deleted");
  });
});

real.describe("what is wrong with a request of an MCP client", () => {
  it("is a missing key: in a form that clients understand", async () => {
    for (const method of ["POST", "GET", "DELETE"]) {
      const response = await server.fetch(undefined, method, "/mcp");
      expect([response.status, response.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
      expect(await response.json()).toMatchObject({ code: "UNAUTHENTICATED" });
    }
    await expect(connect({}, "sk_wrong")).rejects.toMatchObject({ code: 401 });
    const readOnly = (await server.key("default", { readOnly: true, approve: true })).secret;
    await expect(connect({}, readOnly)).rejects.toMatchObject({ code: 403 });
  });

  it("is not an allowed page: that is told which headers it may send and see", async () => {
    const { host } = new URL(server.url);
    const asked = await server.raw("OPTIONS", "/mcp", { host, origin: ORIGIN });
    const sendable = String(asked.headers["access-control-allow-headers"]).split(", ");
    expect(sendable).toEqual(
      expect.arrayContaining([
        "authorization",
        "mcp-session-id",
        "mcp-protocol-version",
        "last-event-id",
        "x-skerry-session",
        "x-skerry-role",
      ]),
    );
    const made = await post(INITIALIZE, { origin: ORIGIN });
    expect(made.status).toBe(200);
    expect(made.headers.get("access-control-allow-origin")).toBe(ORIGIN);
    expect(made.headers.get("access-control-expose-headers")).toContain("mcp-session-id");
    const id = made.headers.get("mcp-session-id")!;
    const gone = await server.fetch(key, "DELETE", "/mcp", {
      headers: { origin: ORIGIN, "mcp-session-id": id },
    });
    expect(gone.status).toBe(204);
    expect((await post(INITIALIZE, { origin: "https://evil.example" })).status).toBe(403);
  });

  it.each<[string, unknown, Record<string, string>, number, string]>([
    ["no JSON", "{", {}, 400, "INVALID_ARGUMENT"],
    ["no object", '"initialize"', {}, 400, "INVALID_ARGUMENT"],
    ["no message", { hello: 1 }, {}, 400, "INVALID_ARGUMENT"],
    ["a prototype", '{"__proto__":{"jsonrpc":"2.0"}}', {}, 400, "INVALID_ARGUMENT"],
    ["another request first", { jsonrpc: "2.0", id: 1, method: "tools/list" }, {}, 400, "INVALID_ARGUMENT"],
    ["two of them", [INITIALIZE, INITIALIZE], {}, 400, "INVALID_ARGUMENT"],
    ["a client without a name", { ...INITIALIZE, params: {} }, {}, 400, "INVALID_ARGUMENT"],
    ["no event stream accepted", INITIALIZE, { accept: "application/json" }, 400, "INVALID_ARGUMENT"],
    ["too much of it", { ...INITIALIZE, x: "x".repeat(70_000) }, {}, 413, "BODY_TOO_LARGE"],
    ["an id that is none", INITIALIZE, { "mcp-session-id": "../../etc" }, 404, "NOT_FOUND"],
  ])("is %s: refused, and nothing is made", async (_, body, headers, status, code) => {
    const answer = await post(body, headers);
    expect(answer).toMatchObject({ status, body: { code, requestId: answer.headers.get("x-request-id") } });
    expect(JSON.stringify(answer.body)).not.toMatch(/node_modules|\bat \S+:\d/);
    expect(await namesOf(key)).toEqual([]);
  });

  it("is refused within a session, too, and the session goes on", async () => {
    const { transport, client, call } = await connect();
    const id = { "mcp-session-id": transport.sessionId! };
    const ping = (number: number) => ({ jsonrpc: "2.0", id: `p${number}`, method: "ping" });
    const refused: [unknown, Record<string, string>][] = [
      [{ hello: 1 }, {}],
      [[], {}],
      [[ping(1), ping(1)], {}],
      [Array.from({ length: 101 }, (_, index) => ping(index)), {}],
      [INITIALIZE, {}],
      [ping(1), { "mcp-protocol-version": "1999-01-01" }],
      [ping(1), { accept: "text/html" }],
    ];
    for (const [body, headers] of refused) {
      expect(await post(body, { ...id, ...headers })).toMatchObject({
        status: 400,
        body: { code: "INVALID_ARGUMENT" },
      });
    }
    expect(await post({ jsonrpc: "2.0", id: "u", method: "no/such" }, id)).toMatchObject({
      status: 200,
      body: { id: "u", error: { code: -32601 } },
    });
    // A batch is answered on one stream, which ends with the last of it.
    const waits = (name: string) => ({
      ...{ jsonrpc: "2.0", id: name, method: "tools/call" },
      params: { name: "shell_exec", arguments: { command: `touch ${name}; sleep 1000`, timeoutMs: 600_000 } },
    });
    const cancel = (requestId: string) =>
      post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } }, id);
    const batch = post([waits("one"), ping(7), waits("two")], id);
    await waitUntil(async () => printedIn(await call("file_list")).split("\n").length === 2, LONG_MS);
    expect((await cancel("one")).status).toBe(202);
    expect((await cancel("two")).status).toBe(202);
    expect((await batch).told).toEqual([
      { jsonrpc: "2.0", id: "p7", result: {} },
      { jsonrpc: "2.0", id: "one", error: { code: -32600, message: "It was cancelled" } },
    ]);
    const second = await server.fetch(key, "GET", "/mcp", {
      headers: { ...id, accept: "text/event-stream" },
    });
    expect([second.status, await second.json()]).toMatchObject([409, { code: "CONFLICT" }]);
    expect((await server.fetch(key, "GET", "/mcp", { headers: id })).status).toBe(400);
    expect((await client.listTools()).tools.length).toBe(9);
  });
});

real.describe("a key's MCP clients", () => {
  let small: TestServer | undefined;
  afterEach(async () => {
    await small?.close();
    small = undefined;
  });

  it("are bounded, and so is what they run at once, also when no client waits for it", async () => {
    small = await TestServer.open({ server: { mcp: { sessionsPerKey: 2 }, limits: { concurrency: 3 } } });
    const { url, admin } = small;
    const [one, two] = [await connectMcp(url, admin), await connectMcp(url, admin)];
    const busy = new AbortController();
    for (const { client } of [one, two]) {
      const args = { command: "sleep 1000", timeoutMs: 600_000 };
      client
        .callTool({ name: "shell_exec", arguments: args }, undefined, { signal: busy.signal })
        .catch(() => undefined);
    }
    const running = async () => (await small!.call(admin, "GET", "/v1/pool")).body.running;
    await waitUntil(async () => (await running()) === 2, LONG_MS);
    const refused = await post(INITIALIZE, {}, admin, small);
    expect(refused).toMatchObject({ status: 429, body: { code: "RATE_LIMITED" } });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    busy.abort();
    await waitUntil(async () => (await running()) === 0, LONG_MS);
    // A standing stream has no place among them; one of a call that was cancelled gives it back.
    for (let i = 0; i < 5; i++) {
      const enough = new AbortController();
      let isRunning = false;
      const called = one.client.callTool(
        { name: "shell_exec", arguments: { command: "echo on; sleep 100", timeoutMs: 600_000 } },
        undefined,
        {
          signal: enough.signal,
          onprogress: () => {
            isRunning = true;
          },
        },
      );
      called.catch(() => undefined);
      await waitUntil(() => isRunning, LONG_MS);
      enough.abort();
      await expect(called).rejects.toThrow();
    }
    // Calls whose connections are gone go on, and count.
    const id = one.transport.sessionId!;
    for (let i = 0; i < 3; i++) {
      const gone = new AbortController();
      const response = await small.fetch(admin, "POST", "/mcp", {
        headers: { "content-type": "application/json", "mcp-session-id": id, ...ACCEPT },
        body: JSON.stringify({
          jsonrpc: "2.0",
          id: `gone-${i}`,
          method: "tools/call",
          params: { name: "shell_exec", arguments: { command: "sleep 1000", timeoutMs: 600_000 } },
        }),
        signal: gone.signal,
      });
      expect(response.status).toBe(200);
      gone.abort();
    }
    await waitUntil(async () => (await running()) === 3, LONG_MS);
    await expect(two.call("file_list")).rejects.toMatchObject({ data: { code: "RATE_LIMITED" } });
    await one.transport.terminateSession();
    await waitUntil(async () => (await running()) === 0, LONG_MS);
    expect(textOf(await two.call("file_list"))).toBe("0 entries");
    await connectMcp(url, admin);
  });

  it("make way for new ones when they are not connected, the one that was away for longest first", async () => {
    small = await TestServer.open({ server: { mcp: { sessionsPerKey: 2 } } });
    const { admin } = small;
    const initialize = async () =>
      (await post(INITIALIZE, {}, admin, small)).headers.get("mcp-session-id") ?? "none";
    const ids = [await initialize(), await initialize(), await initialize(), await initialize()];
    const statuses = [];
    for (const id of ids) {
      const ping = { jsonrpc: "2.0", id: 1, method: "ping" };
      statuses.push((await post(ping, { "mcp-session-id": id }, admin, small)).status);
    }
    expect(statuses).toEqual([404, 404, 200, 200]);
    const names = async () => (await small!.call(admin, "GET", "/v1/sessions")).body.items.length;
    await waitUntil(async () => (await names()) === 2);
  });

  it("that are not heard of for a while are let go, with their own sessions, and the others stay", async () => {
    small = await TestServer.open({ server: { mcp: { idle: "1s" } } });
    const { url, admin } = small;
    const listens = await connectMcp(url, admin);
    const { headers } = await post(INITIALIZE, {}, admin, small);
    const id = { "mcp-session-id": headers.get("mcp-session-id")! };
    const names = async () => (await small!.call(admin, "GET", "/v1/sessions")).body.items.length;
    expect(await names()).toBe(2);
    await waitUntil(async () => (await names()) === 1, LONG_MS);
    const late = await post({ jsonrpc: "2.0", id: 1, method: "ping" }, id, admin, small);
    expect(late.status).toBe(404);
    expect((await listens.client.listTools()).tools.length).toBe(9);
  });

  it("get their answers before the server stops; then their own sessions go, and named ones stay", async () => {
    small = await TestServer.open({ server: { stopDeadline: "60s" } });
    const { url, admin } = small;
    const [own, named] = [await connectMcp(url, admin), await connectMcp(url, admin, { session: "stays" })];
    await named.call("file_write", { path: "kept", content: "1" });
    const progress: string[] = [];
    const command = "echo on; sleep 2; echo done";
    const running = own.client.callTool({ name: "shell_exec", arguments: { command } }, undefined, {
      onprogress: ({ message }) => void progress.push(message ?? ""),
    });
    await waitUntil(() => progress.length > 0, LONG_MS);
    const stopped = small.stop();
    expect(printedIn((await running) as never)).toBe("on\ndone");
    await stopped;
    await small.start();
    const { items } = (await small.call(admin, "GET", "/v1/sessions")).body;
    expect(items.map(({ sessionId }: { sessionId: string }) => sessionId)).toEqual(["stays"]);
    const again = await connectMcp(small.url, admin, { session: "stays" });
    expect(printedIn(await again.call("file_read", { path: "kept" }))).toBe("1");
  });
});

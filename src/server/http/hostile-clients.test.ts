import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { queryAudit } from "../../guard/audit/index.js";
import { waitUntil } from "../../kit/wait-until.js";
import { headersInside, headersOutside } from "../ports/proxy-headers.js";

const POLICY = `
policies:
  tools:
    shell_exec: { risk_level: low }
    run_code: { risk_level: high, requires_confirmation: true }
    file_list: { risk_level: low }
    file_read: { risk_level: low }
    file_write: { risk_level: low }
  agent_roles:
    builder: { tools: [shell_exec, run_code, file_list, file_read, file_write] }
    reader: { tools: [file_list, file_read] }
`;

requires("bubblewrap").describe("a server under attack", () => {
  let server: TestServer;
  let key: string;
  const execute = (session: string, body: object) =>
    server.call(key, "POST", `/v1/sessions/${session}/execute`, body);
  const filesOf = async (session: string) =>
    (await server.call(key, "GET", `/v1/sessions/${session}/files`)).body["items"] as { path: string }[];

  beforeAll(async () => {
    server = await TestServer.open({
      server: { sessions: { maxPerOrg: 6 } },
      sandbox: { limits: { output: "1mb" } },
    });
    key = (await server.key()).secret;
  });
  afterAll(() => server?.close());

  it("goes on when an archive's caller hangs up before it is read", async () => {
    await server.call(key, "POST", "/v1/sessions", { sessionId: "s" });
    for (let round = 0; round < 36; round++) {
      const socket = dial(
        "POST /v1/sessions/s/snapshots/import",
        "content-type: application/x-tar\r\ncontent-length: 100000\r\n",
        "abcd",
      );
      await delay(round % 12);
      socket.destroy();
    }
    expect((await server.call(key, "GET", "/v1/sessions/s")).status).toBe(200);
  });

  it("copies no directory of its host in, however a caller asks for one", async () => {
    const mounts = [{ source: process.cwd() }];
    const refused = { status: 400, body: { code: "INVALID_ARGUMENT" } };
    expect(await server.call(key, "POST", "/v1/sessions", { sessionId: "m", mounts })).toMatchObject(refused);
    await server.call(key, "POST", "/v1/sessions", { sessionId: "s" });
    expect(await execute("s", { command: "ls", mounts })).toMatchObject(refused);
    expect(
      await execute("s", { command: "ls", files: { x: { path: "/etc/hostname", name: "x" } } }),
    ).toMatchObject({
      status: 400,
    });
    expect((await filesOf("s")).filter(({ path }) => !path.startsWith("."))).toEqual([]);
  });

  it("keeps no more output than is configured, whatever a request asks for", async () => {
    const printing = { command: "head -c 3000000 /dev/zero | tr '\\0' x", maxOutputBytes: 2 ** 31 };
    const { body } = await execute("s", printing);
    expect(body).toMatchObject({ success: false, reason: "output-limit" });
    expect(String(body["stdout"]).length).toBeLessThanOrEqual(1_048_576);
  });

  it.each(["files", "env"])("looks at no %s of which there are too many", async (field) => {
    const many = Object.fromEntries(Array.from({ length: 30_000 }, (_, index) => [`n${index}`, 1]));
    const { status, body } = await execute("s", { argv: ["true"], [field]: many });
    expect([status, body["code"], body["message"]]).toEqual([
      400,
      "INVALID_ARGUMENT",
      "The request has more than 20000 values",
    ]);
  });

  it("ends a program whose answer waits behind another one when their caller hangs up", async () => {
    const body = (command: string) => JSON.stringify({ command });
    const headers = (text: string) =>
      `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(text)}\r\n`;
    const [first, second] = [body("sleep 600"), body("touch started; sleep 600")];
    const socket = dial("POST /v1/sessions/s/execute", headers(first), first);
    socket.write(request("POST /v1/sessions/s/execute", headers(second)) + second);
    await waitUntil(async () => (await filesOf("s")).some(({ path }) => path === "started"));
    socket.destroy();
    const running = async () =>
      (await server.call(key, "GET", "/v1/executions?state=running")).body["items"] as object[];
    await waitUntil(async () => (await running()).length === 0);
  });

  it("tells nothing more to a key that was revoked while it read", async () => {
    const spy = await server.key();
    const response = await server.fetch(spy.secret, "POST", "/v1/sessions/s/execute", {
      headers: { "content-type": "application/json", accept: "text/event-stream" },
      body: JSON.stringify({ command: "while sleep 0.2; do echo tick; done" }),
    });
    let text = "";
    let isRevoked = false;
    try {
      for await (const piece of response.body!) {
        text += Buffer.from(piece).toString("utf8");
        if (isRevoked || !text.includes("tick")) continue;
        isRevoked = true;
        await (await server.store()).apiKeys.revoke("default", spy.id);
      }
    } catch {
      // Cut off.
    }
    expect([isRevoked, text.includes("event: exit")]).toEqual([true, false]);
  });

  it("takes no other key's name from a request", async () => {
    expect(await execute("s", { command: "true", agentId: "key:0123" })).toMatchObject({ status: 400 });
    expect(await execute("s", { command: "true", agentId: "somebody" })).toMatchObject({ status: 200 });
  });

  it("does not use up an idempotency key for a session that it refuses, and says why there is none", async () => {
    for (let index = 0; index < 5; index++)
      await server.call(key, "POST", "/v1/sessions", { sessionId: `full-${index}` });
    const wanted = [{ sessionId: "wanted" }, { "idempotency-key": "again" }] as const;
    const refused = await server.call(key, "POST", "/v1/sessions", ...wanted);
    expect(refused).toMatchObject({ status: 409, body: { code: "CONFLICT" } });
    expect(await execute("unheard-of", { command: "true" })).toMatchObject({
      status: 409,
      body: { message: expect.stringContaining("6 sessions already") },
    });
    await server.call(key, "DELETE", "/v1/sessions/full-0");
    const made = await server.call(key, "POST", "/v1/sessions", ...wanted);
    expect(made).toMatchObject({ status: 201, body: { state: "active" } });
    expect(await server.call(key, "POST", "/v1/sessions", ...wanted)).toMatchObject({ status: 200 });
  });

  it("says that a listing is not all of it", async () => {
    await execute("s", { command: "mkdir -p many && cd many && seq 10050 | xargs touch" });
    const page = await server.call(key, "GET", "/v1/sessions/s/files?path=many&limit=10");
    expect(page.body).toMatchObject({ truncated: true, next: expect.any(String) });
  });

  function dial(line: string, headers: string, body: string) {
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    socket.write(request(line, headers) + body);
    return socket;
  }

  const request = (line: string, headers: string) =>
    `${line} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n${headers}\r\n`;
});

requires("bubblewrap").describe("a server with a policy, under attack", () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await TestServer.open({ policy: POLICY });
  });
  afterAll(() => server?.close());

  it("does not ask about an unreadable request", async () => {
    const builder = (await server.key("default", { roles: ["builder"] })).secret;
    const code = `print(1)${" # long".repeat(60_000)}`;
    const { body } = await server.call(builder, "POST", "/v1/sessions/b/execute", {
      language: "python",
      code,
    });
    expect(body).toMatchObject({ reason: "rejected", error: expect.stringContaining("too long") });
    expect((await server.call(server.admin, "GET", "/v1/approvals")).body).toEqual({ items: [] });
  });

  it("lets a key end or prolong no session of a role that it has not, and writes an end down", async () => {
    const builder = (await server.key("default", { roles: ["builder"] })).secret;
    const reader = (await server.key("default", { roles: ["reader"] })).secret;
    await server.call(builder, "POST", "/v1/sessions", { sessionId: "theirs" });
    const forbidden = { status: 403, body: { code: "FORBIDDEN" } };
    expect(await server.call(reader, "DELETE", "/v1/sessions/theirs")).toMatchObject(forbidden);
    expect(await server.call(reader, "POST", "/v1/sessions/theirs/renew", {})).toMatchObject(forbidden);
    expect(await server.call(builder, "DELETE", "/v1/sessions/theirs")).toMatchObject({ status: 200 });
    const { items } = (await server.call(builder, "GET", "/v1/audit?eventType=session_deleted")).body;
    expect(items).toMatchObject([{ details: { session: "theirs" } }]);
  });

  it("rejects what waits for a person when it stops, at once, and writes it down", async () => {
    const builder = (await server.key("default", { roles: ["builder"] })).secret;
    const asked = server.call(builder, "POST", "/v1/sessions/b/execute", { language: "bash", code: "true" });
    const pending = async () =>
      (await server.call(server.admin, "GET", "/v1/approvals")).body["items"] as object[];
    await waitUntil(async () => (await pending()).length === 1);
    const [{ body }] = await Promise.all([asked, server.stop()]);
    expect(body).toMatchObject({ reason: "rejected", error: expect.stringContaining("The server stops") });
    const events: string[] = [];
    for await (const { event_type } of queryAudit(server.auditDirectory)) events.push(event_type);
    expect(events.filter((each) => each === "approval_interrupted")).toHaveLength(1);
  });
});

it("headers of who asks, and from where, stay outside; those that act on an origin stay inside", () => {
  const told = { accept: "*/*", "accept-language": "de" };
  const kept = ["origin", "skerry-forwarded-by", "true-client-ip", "cf-connecting-ip", "x-amzn-oidc-data"];
  const asked = Object.fromEntries(
    [...kept, "x-own", "x-api-key", "mcp-session-id"].map((name) => [name, "x"]),
  );
  expect(headersInside({ ...told, ...asked }, 8000, "GET")).toEqual({
    ...told,
    host: "localhost:8000",
    connection: "close",
  });
  const acting = ["accept-ch", "timing-allow-origin", "use-as-dictionary", "secure-session-registration"];
  const answered = Object.fromEntries(acting.map((name) => [name, "x"]));
  expect(Object.keys(headersOutside({ ...told, ...answered })).filter((name) => name in answered)).toEqual(
    [],
  );
});

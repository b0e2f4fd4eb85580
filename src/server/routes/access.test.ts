import { readFileSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";
import type { Access } from "../http/access.js";
import { accessRows } from "../protocols.js";

let server: TestServer;
const keys = { full: "", plain: "", readOnly: "", approver: "", revoked: "", other: "", otherAdmin: "" };
const wrong = `sk_${"0".repeat(24)}_${"a".repeat(43)}`;

beforeAll(async () => {
  server = await TestServer.open({
    server: { origins: ["https://console.example.com"] },
    sandbox: { network: { allowLocalBinding: true } },
  });
  const make = async (...given: Parameters<TestServer["key"]>) => (await server.key(...given)).secret;
  keys.full = server.admin;
  keys.plain = await make("default");
  keys.readOnly = await make("default", { readOnly: true });
  keys.approver = await make("default", { readOnly: true, approve: true });
  keys.other = await make("other");
  keys.otherAdmin = await make("other", { approve: true, admin: true });
  const revoked = await server.key("default", { approve: true, admin: true });
  keys.revoked = revoked.secret;
  await (await server.store()).apiKeys.revoke("default", revoked.id);
  const made = await server.call(keys.full, "POST", "/v1/sessions/mine/execute", {
    language: "python",
    code: "open('kept.txt', 'w').write('mine')",
    context: "c",
  });
  expect(made.body).toMatchObject({ success: true });
  const listens = readFileSync(new URL("../../../test/setup/hostile-server.py", import.meta.url), "utf8");
  const { id } = (
    await server.call(keys.full, "POST", "/v1/sessions/mine/processes", { language: "python", code: listens })
  ).body;
  await server.call(keys.full, "GET", `/v1/sessions/mine/processes/${id}/logs?waitMs=30000`);
});

interface Row {
  readonly route: string;
  readonly access: Access;
  readonly method: string;
  readonly path: string;
}

/** HEAD has no body to look at, and a test of its own. */
const routes = Object.entries(accessRows()).filter(([route]) => !route.startsWith("HEAD "));
const rows: Row[] = routes.map(([route, access]) => {
  const [method, url] = route.split(" ") as [string, string];
  const path = url
    .replace(":sessionId", "mine")
    .replace("contexts/:id", "contexts/c")
    .replace(":id", "snap-0123456789abcdef")
    .replace("files/*", "files/kept.txt")
    .replace(":port", "8000")
    .replace("ports/8000/*", "ports/8000/x")
    // Of one that is there it would tell for ever.
    .replace("/watch", "/watch?path=none")
    .replace("/docs/*", "/docs/static/index.html");
  return { route, access, method, path };
});
const closed = rows.filter(({ access }) => access !== "anyone");
const changing = closed.filter(({ method }) => method !== "GET");
const takesBody = (method: string) => method === "POST" || method === "PUT";

async function ask({ method, path }: Row, key: string | undefined, headers: Record<string, string> = {}) {
  const { host } = new URL(server.url);
  const { status, body } = await server.raw(method, path, {
    host,
    ...(key !== undefined && { authorization: `Bearer ${key}` }),
    ...headers,
  });
  return { status, body: body.startsWith("{") ? JSON.parse(body) : body };
}

const UNAUTHENTICATED = {
  status: 401,
  body: {
    code: "UNAUTHENTICATED",
    message: "A valid API key is required",
    hint: "Send it as `Authorization: Bearer …`. `skerry keys create --name NAME` makes one.",
    retryable: false,
    requestId: expect.any(String),
  },
};
const refused = (code: string, status: number) => ({ status, body: expect.objectContaining({ code }) });

requires("bubblewrap").describe("every route", () => {
  it.each(closed)("$route says the same without a key, and with a wrong or a revoked one", async (row) => {
    expect(await ask(row, undefined)).toEqual(UNAUTHENTICATED);
    expect(await ask(row, wrong)).toEqual(UNAUTHENTICATED);
    expect(await ask(row, keys.revoked)).toEqual(UNAUTHENTICATED);
    expect(await ask(row, undefined, { authorization: `Basic ${keys.full}` })).toEqual(UNAUTHENTICATED);
  });

  it.each(rows)("$route does not answer to a foreign name, nor to a foreign page", async (row) => {
    const foreign = refused("FORBIDDEN", 403);
    expect(await ask(row, keys.full, { host: "rebound.example.com" })).toEqual(foreign);
    expect(await ask(row, keys.full, { origin: "https://evil.example" })).toEqual(foreign);
    expect(await ask(row, keys.full, { origin: "null" })).toEqual(foreign);
  });

  it.each(closed)("$route takes the scope that its row says", async (row) => {
    const forbidden = refused("FORBIDDEN", 403);
    const { access } = row;
    if (access === "write") expect(await ask(row, keys.readOnly)).toEqual(forbidden);
    if (access === "approve") expect(await ask(row, keys.plain)).toEqual(forbidden);
    if (access === "admin") expect(await ask(row, keys.plain)).toEqual(forbidden);
    if (access === "admin") expect(await ask(row, keys.approver)).toEqual(forbidden);
    if (access === "read") expect((await ask(row, keys.readOnly)).status).not.toBe(403);
    if (access === "approve") expect((await ask(row, keys.approver)).status).not.toBe(403);
  });

  // What goes to a port is the inside's to read. A page elsewhere cannot send a key with it.
  const read = changing.filter(({ method, route }) => takesBody(method) && !route.includes("/ports/"));
  it.each(read)("$route takes no form", async (row) => {
    const { host } = new URL(server.url);
    for (const type of ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"]) {
      const { status, body } = await server.raw(
        row.method,
        row.path,
        { host, authorization: `Bearer ${keys.full}`, "content-type": type, "content-length": "3" },
        "a=b",
      );
      expect({ status, body: JSON.parse(body) }).toEqual(refused("MEDIA_TYPE_UNSUPPORTED", 415));
    }
  });

  const makesSessions = ["POST /v1/sessions/:sessionId/execute", "POST /v1/sessions/:sessionId/processes"];
  const named = closed.filter(({ route }) => /:sessionId|:id/.test(route) && !makesSessions.includes(route));
  it.each(named)("$route is nothing to another org, as if it were not there", async (row) => {
    const bodyOf = row.method === "POST" ? BODIES[row.route] : undefined;
    const send = async (path: string) => {
      const upload = row.method === "PUT" || row.route.endsWith("import");
      const type = row.method === "PUT" ? "application/octet-stream" : "application/x-tar";
      const { status, body } = upload
        ? await server.raw(
            row.method,
            path,
            {
              host: new URL(server.url).host,
              authorization: `Bearer ${keys.otherAdmin}`,
              "content-type": type,
              "content-length": "1",
            },
            "x",
          )
        : await server.call(keys.otherAdmin, row.method, path, bodyOf);
      const told = typeof body === "string" ? JSON.parse(body) : body;
      return { status, ...told, requestId: "" };
    };
    const theirs = await send(row.path);
    const nobodys = await send(row.path.replace("/mine", "/none").replace("snap-0123", "snap-9999"));
    expect(theirs.status).toBe(404);
    expect({ ...theirs, message: theirs.message.replace('"mine"', '"none"') }).toEqual(nobodys);
  });

  it("a HEAD to a port is as closed as every other method", async () => {
    const status = async (key: string | undefined, session = "mine") => {
      const path = `/v1/sessions/${session}/ports/8000/x`;
      return (await ask({ route: "", access: "write", method: "HEAD", path }, key)).status;
    };
    const asked = [undefined, keys.revoked, keys.readOnly, keys.otherAdmin, keys.plain];
    expect(await Promise.all(asked.map((key) => status(key)))).toEqual([401, 401, 403, 404, 200]);
  });

  it.each(rows)("$route is there, for keys that may use it", async (row) => {
    if (row.route === "DELETE /v1/sessions/:sessionId") return;
    const { status, body } = await ask(row, keys.full, { connection: "close" });
    expect(body.message).not.toBe("There is no such route");
    expect(status).not.toBe(405);
    expect(status).toBeLessThan(500);
  });
});

/** What each route needs to get past its schema. */
const BODIES: Readonly<Record<string, unknown>> = {
  "POST /v1/sessions/:sessionId/renew": {},
  "POST /v1/sessions/:sessionId/processes/:id/signal": { signal: "SIGTERM" },
  "POST /v1/sessions/:sessionId/terminals": { rows: 24, columns: 80 },
  "POST /v1/sessions/:sessionId/files/move": { from: "kept.txt", to: "x" },
  "POST /v1/sessions/:sessionId/files/mkdir": { path: "x" },
  "POST /v1/sessions/:sessionId/contexts": {},
  "POST /v1/sessions/:sessionId/contexts/:id/execute": { code: "1" },
  "POST /v1/sessions/:sessionId/contexts/:id/checkpoint": {},
  "POST /v1/sessions/:sessionId/contexts/:id/rollback": { checkpoint: "c.1" },
  "POST /v1/sessions/:sessionId/snapshots": {},
  "POST /v1/sessions/:sessionId/fork": {},
  "POST /v1/sessions/:sessionId/egress": { deny: ["*"] },
  "POST /v1/approvals/:id/decide": { decision: "approve" },
};

requires("bubblewrap").describe("two orgs", () => {
  it("have sessions of the same name that know nothing of each other", async () => {
    const run = (key: string, command: string) =>
      server.call(key, "POST", "/v1/sessions/mine/execute", { command });
    await run(keys.full, "printf mine > kept.txt");
    const theirs = await run(keys.other, "ls; echo theirs > kept.txt");
    expect(theirs.body).toMatchObject({ success: true, stdout: "" });
    expect((await run(keys.full, "cat kept.txt")).body.stdout).toBe("mine");
    const names = async (key: string) =>
      (await server.call(key, "GET", "/v1/sessions")).body.items.map(
        ({ sessionUid }: { sessionUid: string }) => sessionUid,
      );
    const [mine, other] = [await names(keys.full), await names(keys.other)];
    expect(mine.filter((id: string) => other.includes(id))).toEqual([]);
  });

  it("see their own executions and audit records only, also by a session's id", async () => {
    const { sessionUid: id } = (await server.call(keys.full, "GET", "/v1/sessions/mine")).body;
    const own = await server.call(keys.full, "GET", `/v1/audit?sessionId=${id}`);
    expect(own.body.items.length).toBeGreaterThan(0);
    expect(new Set(own.body.items.map((record: { org_id: string }) => record.org_id))).toEqual(
      new Set(["default"]),
    );
    const [execution] = (await server.call(keys.full, "GET", `/v1/executions?sessionId=mine`)).body.items;
    expect(execution.sessionUid).toBe(id);
    for (const path of [`/v1/audit?sessionId=${id}`, `/v1/executions?sessionId=${id}`])
      expect((await server.call(keys.other, "GET", path)).body).toEqual({ items: [] });
    expect(await server.call(keys.other, "GET", `/v1/executions/${execution.id}`)).toMatchObject({
      status: 404,
      body: { code: "NOT_FOUND" },
    });
  });
});

describe("pages of an allowed origin", () => {
  it("are told that they may ask, and which headers they may send", async () => {
    const { host } = new URL(server.url);
    const origin = "https://console.example.com";
    const { status, headers } = await server.raw("OPTIONS", "/v1/sessions", { host, origin });
    expect({ status, allowed: headers["access-control-allow-origin"], vary: headers.vary }).toEqual({
      status: 204,
      allowed: origin,
      vary: "origin",
    });
    expect(headers["access-control-allow-headers"]).toContain("authorization");
    expect(headers["access-control-allow-credentials"]).toBeUndefined();
  });
});

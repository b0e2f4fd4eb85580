import { Writable } from "node:stream";
import { beforeAll, describe, expect, it } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";
import { openStore } from "../store/index.js";

const lines: string[] = [];
const log = new Writable({
  write(chunk, _, done) {
    lines.push(...String(chunk).trim().split("\n"));
    done();
  },
});
let server: TestServer;
let key: string;

beforeAll(async () => {
  server = await TestServer.open({
    log,
    server: { limits: { body: "64kb" }, sessions: { maxPerOrg: 8, startAhead: 0 } },
  });
  key = (await server.key()).secret;
});

const call: TestServer["call"] = (...given) => server.call(...given);
const execute = (session: string, body: object, headers?: Record<string, string>) =>
  call(key, "POST", `/v1/sessions/${session}/execute`, body, headers);

requires("bubblewrap").describe("sessions", () => {
  it("are made, found, renewed, listed by pages and ended with their files", async () => {
    const made = await call(key, "POST", "/v1/sessions", { sessionId: "one", ttlMs: 60_000 });
    expect(made).toMatchObject({ status: 201, body: { sessionId: "one", state: "active" } });
    expect(await call(key, "GET", "/v1/sessions/one")).toMatchObject({ status: 200, body: made.body });
    expect(await call(key, "POST", "/v1/sessions", { sessionId: "one" })).toMatchObject({
      status: 409,
      body: { code: "CONFLICT" },
    });
    const renewed = await call(key, "POST", "/v1/sessions/one/renew", { ttlMs: null });
    expect(renewed.body.expiresAt).toBeUndefined();
    await call(key, "POST", "/v1/sessions", { sessionId: "two" });
    const first = await call(key, "GET", "/v1/sessions?limit=1");
    const second = await call(key, "GET", `/v1/sessions?limit=1&cursor=${first.body.next}`);
    expect(
      [first, second].flatMap(({ body }) =>
        body.items.map(({ sessionId }: { sessionId: string }) => sessionId),
      ),
    ).toEqual(["two", "one"]);
    expect(second.body.next).toBeUndefined();

    await execute("one", { command: "echo 1 > a" });
    expect(await call(key, "DELETE", "/v1/sessions/one")).toMatchObject({
      status: 200,
      body: { deleted: true },
    });
    expect(await call(key, "DELETE", "/v1/sessions/one")).toMatchObject({
      status: 404,
      body: { code: "SESSION_NOT_FOUND" },
    });
    expect((await execute("one", { command: "ls" })).body).toMatchObject({ success: true, stdout: "" });
    for (const name of ["one", "two"]) await call(key, "DELETE", `/v1/sessions/${name}`);
  });

  it("are made once for an idempotency key, and not for another request with it", async () => {
    const make = (name: string) =>
      call(key, "POST", "/v1/sessions", { sessionId: name }, { "idempotency-key": "k-1" });
    const answers = await Promise.all([make("once"), make("once"), make("once")]);
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 201]);
    expect(new Set(answers.map(({ body }) => body.sessionUid)).size).toBe(1);
    expect(await make("other")).toMatchObject({ status: 409, body: { code: "CONFLICT" } });
    const both = await call(key, "POST", "/v1/sessions", { idempotencyKey: "b" }, { "idempotency-key": "a" });
    expect(both).toMatchObject({ status: 400, body: { code: "INVALID_ARGUMENT" } });
    await call(key, "DELETE", "/v1/sessions/once");
  });

  it("are no more than an org may have, however many ask at once", async () => {
    const answers = await Promise.all(
      Array.from({ length: 12 }, (_, index) =>
        call(key, "POST", "/v1/sessions", { sessionId: `many-${index}` }),
      ),
    );
    const made = answers.filter(({ status }) => status === 201);
    expect(made).toHaveLength(8);
    expect(answers.find(({ status }) => status !== 201)).toMatchObject({
      status: 409,
      body: { code: "CONFLICT", message: "There are 8 sessions already, which is the limit" },
    });
    for (const { body } of made) await call(key, "DELETE", `/v1/sessions/${body.sessionId}`);
  });

  it("end when their time is over, and the name is free at once", async () => {
    await call(key, "POST", "/v1/sessions", { sessionId: "short", ttlMs: 1000 });
    await execute("short", { command: "echo old > f" });
    await waitUntil(async () => (await call(key, "GET", "/v1/sessions/short")).status === 404);
    expect((await execute("short", { command: "ls" })).body).toMatchObject({ success: true, stdout: "" });
    await call(key, "DELETE", "/v1/sessions/short");
  });

  it("stop what runs in them when they are deleted, and leave no files behind", async () => {
    const running = execute("busy", { command: "touch here; sleep 60; touch late" });
    await waitUntil(async () => (await call(key, "GET", "/v1/sessions/busy/files")).body.items?.length === 1);
    expect((await call(key, "DELETE", "/v1/sessions/busy")).status).toBe(200);
    const { status, body } = await running;
    expect([status, body.reason ?? body.code]).toEqual([200, "cancelled"]);
    expect((await call(key, "GET", "/v1/sessions/busy")).status).toBe(404);
  });

  it.each([
    ["a slash in the name", "POST", "/v1/sessions", { sessionId: "a/b" }, "SESSION_NAME_INVALID"],
    ["CRLF in the name", "POST", "/v1/sessions", { sessionId: "a\r\nset-cookie: x" }, "SESSION_NAME_INVALID"],
    ["CRLF in the address", "GET", "/v1/sessions/a%0d%0ab", undefined, "SESSION_NAME_INVALID"],
    ["an unknown key", "POST", "/v1/sessions", { nme: "a" }, "INVALID_ARGUMENT"],
    ["an invented cursor", "GET", "/v1/sessions?cursor=abc", undefined, "INVALID_ARGUMENT"],
    ["a page without an end", "GET", "/v1/sessions?limit=100000", undefined, "INVALID_ARGUMENT"],
  ])("refuse %s", async (_, method, path, body, code) => {
    expect(await call(key, method, path, body)).toMatchObject({ status: 400, body: { code } });
  });
});

requires("bubblewrap", "python3").describe("executions", () => {
  it("run programs and commands with files, variables, input and a directory", async () => {
    const { status, body } = await execute("run", {
      argv: ["sh", "-c", 'cat - in/a.txt b.bin; echo "$NAME $PWD"'],
      stdin: "typed ",
      env: { NAME: "value" },
      files: { "in/a.txt": "text ", "b.bin": { base64: Buffer.from("bytes\n").toString("base64") } },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      sessionId: "run",
      success: true,
      reason: "exited",
      exitCode: 0,
      stdout: "typed text bytes\nvalue /workspace\n",
      sandboxType: "bubblewrap",
    });
    const listed = await call(key, "GET", `/v1/executions/${body.executionId}`);
    expect(listed.body).toMatchObject({
      tool: "shell_exec",
      state: "done",
      result: { success: true, reason: "exited", exitCode: 0 },
    });
  });

  it("have failures of a program as results", async () => {
    expect(await execute("run", { language: "python", code: "raise SystemExit(3)" })).toMatchObject({
      status: 200,
      body: { success: false, reason: "exited", exitCode: 3 },
    });
    expect(await execute("run", { command: "sleep 60", timeoutMs: 200 })).toMatchObject({
      status: 200,
      body: { success: false, reason: "timeout" },
    });
  });

  it.each([
    ["nothing to run", {}, 400, "INVALID_ARGUMENT"],
    ["two things to run", { command: "ls", argv: ["ls"] }, 400, "INVALID_ARGUMENT"],
    ["an unknown language", { language: "cobol", code: "x" }, 400, "LANGUAGE_UNKNOWN"],
    ["a path that leads out", { command: "ls", files: { "../x": "" } }, 400, "PATH_TRAVERSAL"],
    ["a timeout that is text", { command: "ls", timeoutMs: "1s" }, 400, "INVALID_ARGUMENT"],
    ["a program that is not there", { argv: ["no-such-program"] }, 422, "COMMAND_NOT_FOUND"],
  ])("refuse %s", async (_, body, status, code) => {
    const answer = await execute("run", body);
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
    expect(answer.body.requestId).toBe(answer.headers.get("x-request-id"));
  });

  it("keep state in contexts, with checkpoints, forks and interrupts", async () => {
    const at = "/v1/sessions/run/contexts";
    expect(await call(key, "POST", at, { id: "c" })).toMatchObject({ status: 201, body: { id: "c" } });
    expect(await call(key, "POST", at, { id: "c" })).toMatchObject({
      status: 409,
      body: { code: "CONFLICT" },
    });
    const run = (code: string, id = "c") => call(key, "POST", `${at}/${id}/execute`, { code });
    await run("x = 20");
    const saved = await call(key, "POST", `${at}/c/checkpoint`);
    await run("x = 0");
    const back = await call(key, "POST", `${at}/c/rollback`, { checkpoint: saved.body.id });
    expect(back).toMatchObject({ status: 200, body: { id: "c", checkpoints: [{ id: saved.body.id }] } });
    const shown = await run("x + 22");
    expect(shown.body).toMatchObject({ contextId: "c", results: [{ data: { "text/plain": "42" } }] });
    const forked = (await call(key, "POST", `${at}/c/fork`)).body.id;
    expect((await run("x", forked)).body.results[0].data["text/plain"]).toBe("20");
    const endless = run("while True: pass");
    await waitUntil(async () => (await call(key, "POST", `${at}/c/interrupt`)).body.interrupted === true);
    expect((await endless).body).toMatchObject({ success: false, exception: { name: "KeyboardInterrupt" } });
    expect((await call(key, "POST", `${at}/c/restart`)).body.state).toBe("idle");
    expect((await run("x")).body.exception.name).toBe("NameError");
    expect((await call(key, "DELETE", `${at}/c`)).body).toEqual({ ok: true });
    expect((await call(key, "GET", at)).body.items.map(({ id }: { id: string }) => id)).toEqual([forked]);
    expect(await run("1")).toMatchObject({ status: 404, body: { code: "CONTEXT_NOT_FOUND" } });
  });

  it("have the request's id in the audit record, if it can stand there", async () => {
    const { body, headers } = await execute("run", { command: "true" }, { "x-request-id": "trace-7" });
    expect(headers.get("x-request-id")).toBe("trace-7");
    const { items } = (await call(key, "GET", "/v1/audit?sessionId=run&limit=1")).body;
    expect(items[0]).toMatchObject({ id: body.auditId, details: { request_id: "trace-7" } });
    expect(items[0]).not.toHaveProperty("host");
    const odd = await execute("run", { command: "true" }, { "x-request-id": "<script>" });
    expect(odd.headers.get("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
  });

  it("are audited page by page, the latest first", async () => {
    const first = (await call(key, "GET", "/v1/audit?limit=2")).body;
    const second = (await call(key, "GET", `/v1/audit?limit=2&cursor=${first.next}`)).body;
    const numbers = [...first.items, ...second.items].map(({ seq }: { seq: number }) => seq);
    expect(numbers).toEqual([...new Set(numbers)].sort((a, b) => b - a));
    expect(numbers).toHaveLength(4);
    expect((await call(key, "GET", "/v1/audit?cursor=-1")).status).toBe(400);
  });
});

requires("bubblewrap").describe("files and snapshots", () => {
  const files = "/v1/sessions/files/files";
  const put = (path: string, body: string) =>
    server.fetch(key, "PUT", `${files}/${path}`, {
      body,
      headers: { "content-type": "application/octet-stream" },
    });

  it("go up and down, are listed by pages, moved and deleted", async () => {
    await call(key, "POST", "/v1/sessions", { sessionId: "files" });
    for (const path of ["b%20c.txt", "d/e.txt", "a.txt"]) expect((await put(path, path)).status).toBe(200);
    const down = await server.fetch(key, "GET", `${files}/b%20c.txt`);
    expect(await down.text()).toBe("b%20c.txt");
    expect(down.headers.get("content-disposition")).toBe("attachment; filename*=UTF-8''b%20c.txt");
    expect(down.headers.get("content-security-policy")).toContain("sandbox");
    const names = async (query: string) => {
      const { items, next } = (await call(key, "GET", `${files}?${query}`)).body;
      return { names: items.map(({ path }: { path: string }) => path), next };
    };
    const first = await names("recursive=true&limit=3");
    expect(first.names).toEqual(["a.txt", "b c.txt", "d"]);
    expect(await names(`recursive=true&limit=3&cursor=${first.next}`)).toEqual({
      names: ["d/e.txt"],
      next: undefined,
    });
    await call(key, "POST", `${files}/mkdir`, { path: "new/deep" });
    await call(key, "POST", `${files}/move`, { from: "a.txt", to: "new/deep/z.txt" });
    expect(await (await server.fetch(key, "GET", `${files}/new/deep/z.txt`)).text()).toBe("a.txt");
    expect((await call(key, "DELETE", `${files}/new`)).body.code).toBe("FILE_EXISTS");
    expect((await call(key, "DELETE", `${files}/new?recursive=true`)).status).toBe(200);
    expect((await names("")).names).toEqual(["b c.txt", "d"]);
  });

  it.each([
    ["GET", "none.txt", 404, "FILE_NOT_FOUND"],
    ["GET", "d", 409, "FILE_TYPE"],
    ["GET", "%2e%2e/x", 400, "PATH_TRAVERSAL"],
    ["GET", "a%00b", 400, "INVALID_ARGUMENT"],
    ["GET", "%2fetc%2fpasswd", 400, "PATH_TRAVERSAL"],
    ["DELETE", ".env", 403, "FILE_DENIED"],
  ])("%s of %s is refused", async (method, path, status, code) => {
    // Not by fetch, which would tidy the address up.
    const headers = { host: new URL(server.url).host, authorization: `Bearer ${key}` };
    const answer = await server.raw(method, `${files}/${path}`, headers);
    expect({ status: answer.status, code: JSON.parse(answer.body).code }).toEqual({ status, code });
  });

  it("are not written where they may not be, and the connection still has the answer", async () => {
    const refused = await put(".env", "x".repeat(1024 * 1024));
    expect([refused.status, ((await refused.json()) as { code: string }).code]).toEqual([403, "FILE_DENIED"]);
  });

  it("come back from snapshots, go out and in as archives, and into a fork", async () => {
    const at = "/v1/sessions/files/snapshots";
    const taken = await call(key, "POST", at, { name: "before" });
    expect(taken).toMatchObject({ status: 201, body: { name: "before", files: 2 } });
    await execute("files", { command: "rm -r d; touch junk" });
    const restored = await call(key, "POST", `${at}/${taken.body.id}/restore`);
    expect(restored.body).toMatchObject({ removed: 1, skipped: [] });
    const archive = await server.fetch(key, "GET", `${at}/${taken.body.id}/export`);
    expect(archive.headers.get("content-type")).toBe("application/x-tar");
    const imported = await server.fetch(key, "POST", `${at}/import?name=copy`, {
      body: Buffer.from(await archive.arrayBuffer()),
      headers: { "content-type": "application/x-tar" },
    });
    expect([imported.status, await imported.json()]).toMatchObject([201, { name: "copy", files: 2 }]);
    expect((await call(key, "GET", at)).body.items).toHaveLength(2);
    const fork = await call(key, "POST", "/v1/sessions/files/fork", {
      sessionId: "forked",
      snapshotId: taken.body.id,
    });
    expect(fork.status).toBe(201);
    expect((await execute("forked", { command: "cat d/e.txt" })).body.stdout).toBe("d/e.txt");
    expect((await call(key, "DELETE", `${at}/${taken.body.id}`)).status).toBe(200);
    expect(await call(key, "DELETE", `${at}/${taken.body.id}`)).toMatchObject({
      status: 404,
      body: { code: "SNAPSHOT_NOT_FOUND" },
    });
    const gone = { sessionId: "never", snapshotId: taken.body.id };
    expect((await call(key, "POST", "/v1/sessions/files/fork", gone)).body.code).toBe("SNAPSHOT_NOT_FOUND");
    expect((await call(key, "GET", "/v1/sessions/never")).status).toBe(404);
  });
});

requires("bubblewrap").describe("egress rules", () => {
  it("are those of a session that runs, and their change is recorded", async () => {
    await call(key, "POST", "/v1/sessions", { sessionId: "net" });
    const change = (body: object) => call(server.admin, "POST", "/v1/sessions/net/egress", body);
    expect((await change({ deny: ["*"] })).body.code).toBe("SANDBOX_NOT_RUNNING");
    const { body } = await execute("net", { command: "curl -s http://api.example.com/" });
    expect(body.stdout).toBe(
      'this sandbox has no network: api.example.com was refused; allow it with POST /v1/sessions/SESSION/egress {"allow":["api.example.com"]}, or for all in sandbox.network.allowedDomains\n',
    );
    expect((await change({ allow: ["*"] })).body.code).toBe("INVALID_ARGUMENT");
    expect((await change({ allow: ["api.example.com"] })).body).toEqual({ changed: true });
    const { items } = (await call(key, "GET", "/v1/audit?eventType=egress_changed")).body;
    expect(items[0].details).toMatchObject({ allow: "api.example.com", deny: "" });
  });
});

describe("what is not right", () => {
  it("has one shape, whatever it is", async () => {
    const { host } = new URL(server.url);
    const authorization = `Bearer ${key}`;
    const json = { host, authorization, "content-type": "application/json" };
    const large = JSON.stringify({ command: "x".repeat(70_000) });
    const answers = await Promise.all([
      server.raw("GET", "/v1/nothing", { host, authorization }),
      server.raw("PATCH", "/v1/sessions", { host, authorization }),
      server.raw("POST", "/v1/sessions/a/execute", json, large),
      server.raw("POST", "/v1/sessions", json, "{"),
      server.raw("POST", "/v1/sessions", json, '{"__proto__":{"admin":true}}'),
      server.raw("POST", "/v1/sessions", json, '{"sessionId":7,"nme":1}'),
      server.raw("GET", "/v1/sessions/%ff", { host, authorization }),
    ]);
    expect(answers.map(({ status, body }) => [status, JSON.parse(body).code])).toEqual([
      [404, "NOT_FOUND"],
      [405, "METHOD_NOT_ALLOWED"],
      [413, "BODY_TOO_LARGE"],
      [400, "INVALID_ARGUMENT"],
      [400, "INVALID_ARGUMENT"],
      [400, "INVALID_ARGUMENT"],
      [400, "INVALID_ARGUMENT"],
    ]);
    for (const { body, headers } of answers) {
      const { code, message, hint, retryable, requestId, ...rest } = JSON.parse(body);
      expect([code, message, hint, retryable].map((each) => typeof each)).toEqual([
        "string",
        "string",
        "string",
        "boolean",
      ]);
      expect(rest).toEqual({});
      expect(requestId).toBe(headers["x-request-id"]);
      expect(headers["x-content-type-options"]).toBe("nosniff");
    }
    expect(answers[1]!.headers.allow).toBe("GET, POST");
    expect(JSON.parse(answers[5]!.body).message).toContain("body.sessionId: ");
    expect(JSON.parse(answers[5]!.body).message).toContain('"nme"');
  });

  it("says nothing of its inside when it is ours; the log does", async () => {
    const store = await openStore({ url: `${server.stateDir}/server/store.db` });
    const created = await call(key, "POST", "/v1/sessions", { sessionId: "broken" });
    expect(created.status).toBe(201);
    await store.close();
    const { key: record } = { key: created.body.sessionUid as string };
    const { default: Database } = await import("libsql");
    const database = new Database(`${server.stateDir}/server/store.db`);
    database.prepare("UPDATE sessions SET settings = 'no json' WHERE id = ?").run(record);
    const answer = await call(key, "GET", "/v1/sessions/broken", undefined, { "x-request-id": "find-me" });
    database.prepare("UPDATE sessions SET settings = '{}' WHERE id = ?").run(record);
    database.close();
    expect(answer).toMatchObject({
      status: 500,
      body: {
        code: "INTERNAL",
        message: "Something went wrong inside the server",
        hint: "The server's log has it under this request id.",
        requestId: "find-me",
      },
    });
    const logged = lines.filter((line) => line.includes("find-me") && line.includes("JSON"));
    expect(logged).toHaveLength(1);
  });

  it("is bounded for each key: so many at once, so many in a minute", async () => {
    const small = await TestServer.open({ server: { limits: { concurrency: 2, requestsPerMinute: 20 } } });
    try {
      const [one, two] = [(await small.key()).secret, (await small.key()).secret];
      const many = await Promise.all(
        Array.from({ length: 40 }, () => small.call(one, "GET", "/v1/sessions")),
      );
      const refused = many.filter(({ status }) => status === 429);
      expect(refused.length).toBeGreaterThanOrEqual(20);
      expect(refused[0]).toMatchObject({ body: { code: "RATE_LIMITED" } });
      expect(Number(refused[0]!.headers.get("retry-after"))).toBeGreaterThan(0);
      expect((await small.call(two, "GET", "/v1/sessions")).status).toBe(200);
    } finally {
      await small.close();
    }
  });
});

describe("the log", () => {
  it("has who, what and how, and neither code, keys, headers nor names", async () => {
    await execute("secretive-name", { command: "echo hunter2-in-code" }, { "x-request-id": "log-1" });
    const line = lines.find((each) => each.includes('"log-1"'))!;
    const { requestId, route, status, ms, key: id, org } = JSON.parse(line);
    expect({ requestId, route, status, org }).toEqual({
      requestId: "log-1",
      route: "/v1/sessions/:sessionId/execute",
      status: 200,
      org: "default",
    });
    expect([typeof ms, key.includes(id)]).toEqual(["number", true]);
    const all = lines.join("\n");
    for (const text of [
      "hunter2",
      "secretive-name",
      key.slice(-20),
      server.admin.slice(-20),
      "authorization",
    ])
      expect(all).not.toContain(text);
  });
});

describe("the reference", () => {
  it("has every route with its errors, as OpenAPI 3.1", async () => {
    const { body } = await call(undefined, "GET", "/openapi.json");
    expect(body.openapi).toBe("3.1.0");
    const { accessRows } = await import("../protocols.js");
    const documented = Object.entries(body.paths as Record<string, object>).flatMap(([path, methods]) =>
      Object.keys(methods).map(
        (method) => `${method.toUpperCase()} ${path.replace("{path}", "*").replace(/\{(\w+)\}/g, ":$1")}`,
      ),
    );
    const expected = Object.keys(accessRows()).filter((route) => !/openapi|docs/.test(route));
    expect(documented.sort()).toEqual(expected.sort());
    const withoutErrors = Object.entries(body.paths as Record<string, Record<string, { responses: object }>>)
      .flatMap(([path, methods]) => Object.entries(methods).map(([method, each]) => ({ path, method, each })))
      .filter(
        ({ each }) => (JSON.stringify(each.responses).match(/responses\/\w+Error"/g) ?? []).length !== 2,
      );
    expect(withoutErrors).toEqual([]);
    expect(JSON.stringify(body.components.responses).match(/schemas\/Error"/g)).toHaveLength(2);
    const { "/v1/sessions/{sessionId}/files/{path}": file, "/v1/approvals/stream": stream } = body.paths;
    expect(Object.keys(file.put.requestBody.content)).toEqual(["application/octet-stream"]);
    expect(Object.keys(file.get.responses["200"].content)).toEqual(["application/octet-stream"]);
    expect(Object.keys(stream.get.responses)).toEqual(["101", "4XX", "5XX"]);
    const executed = body.paths["/v1/sessions/{sessionId}/execute"].post.responses["200"];
    expect(Object.keys(executed.content)).toEqual(["application/json", "text/event-stream"]);
    // Every schema is there once, and used.
    const text = JSON.stringify(body);
    const names = Object.keys(body.components.schemas);
    expect(names.filter((name) => /Input$/.test(name) || !text.includes(`schemas/${name}"`))).toEqual([]);
    const operations = Object.values(body.paths as Record<string, Record<string, { operationId: string }>>)
      .flatMap((methods) => Object.values(methods))
      .map(({ operationId }) => operationId);
    expect(new Set(operations).size).toBe(operations.length);
  });

  it("is a page that runs scripts of this server only", async () => {
    const page = await server.fetch(undefined, "GET", "/docs");
    const policy = page.headers.get("content-security-policy");
    expect([page.status, policy]).toEqual([200, expect.stringContaining("default-src 'none'")]);
    expect(policy).toContain("script-src 'self';");
    const html = await page.text();
    expect(html).not.toMatch(/<script(?![^>]*\bsrc=)/);
    expect(html).not.toMatch(/https?:\/\//);
  });
});

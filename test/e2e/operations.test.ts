import { writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { requires } from "../setup/requires.js";
import { type ServerProcess, startServer } from "../setup/server-process.js";
import { createUser, type User } from "./run-skerry.js";

/** No line of the log may have it, in whatever a caller sends. */
const MARK = "hunter2marker";
const POLICY = `
policies:
  tools:
    run_code: { risk_level: medium }
    shell_exec: { risk_level: high, denied_commands: [reboot, halt], confirm_commands: [nproc] }
    file_read: { risk_level: low }
    file_write: { risk_level: medium }
`;

let user: User;
let server: ServerProcess;
let key: string;
let env: Record<string, string>;

beforeAll(async () => {
  user = createUser();
  writeFileSync(join(user.home, "policy.yaml"), POLICY);
  writeFileSync(
    join(user.home, "c.yaml"),
    "sandbox: { policy: { file: ~/policy.yaml } }\nserver: { logs: { level: trace }, pool: { maxInstances: 4, minInstances: 1 } }\n",
  );
  server = await startServer(user, ["--config", "c.yaml"]);
  key = server.key!;
  env = { SKERRY_URL: server.url, SKERRY_API_KEY: key };
});

afterAll(async () => {
  server.kill("SIGTERM");
  await server.ended;
});

// biome-ignore lint/suspicious/noExplicitAny: whatever the server says
async function call(method: string, path: string, json?: unknown, headers = {}): Promise<any> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(json !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const body = await response.text();
  return { status: response.status, body: body.startsWith("{") ? JSON.parse(body) : body };
}
const run = (session: string, command: string) =>
  call("POST", `/v1/sessions/${session}/execute`, { command });

/** Bytes as they are, to the end of the answer. */
async function raw(bytes: string): Promise<string> {
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.end(bytes, "latin1");
  return text(socket);
}

requires("root", "bubblewrap", "cgroups").describe("a server that runs", () => {
  it("has a status that is in order, for a person and for programs", async () => {
    expect((await run("work", "echo 1")).body).toMatchObject({ success: true });
    const shown = user.skerry(["status"], { env });
    expect(shown.stderr).toBe("");
    const lines = shown.stdout.trimEnd().split("\n");
    expect([shown.status, lines.filter((line) => line.startsWith("attention")), lines.at(-1)]).toEqual([
      0,
      [],
      "all in order",
    ]);
    const names = ["pool", "resources", "network", "audit", "violations"];
    const more = ["store", "servers", "disk", "requests", "process"];
    expect(lines.slice(0, -1).map((line) => line.slice(0, 23).trimEnd())).toEqual(
      [...names, ...more].map((name) => `ok         ${name}`),
    );
    const json = JSON.parse(user.skerry(["status", "--json"], { env }).stdout);
    expect(json).toMatchObject({
      ok: true,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      figures: {
        pool: { maxInstances: 4 },
        recent: { executions: { success: 1 }, violations: [] },
        store: { kind: "sqlite", activeSessions: 1 },
        servers: [{ isThis: true }],
        audit: { lastSeq: expect.any(Number) },
      },
    });
    expect(user.skerry(["pool", "status"]).stdout).toMatch(
      new RegExp(`^process ${server.pid}: bubblewrap\n  \\d idle, .*; at most 4, 1 kept ready\n`),
    );
  });

  it("has a status that says no more than it may, and what is wrong otherwise", () => {
    const made = user.skerry(["keys", "create", "--config", "c.yaml", "--name", "plain"]);
    const plain = user.skerry(["status"], { env: { ...env, SKERRY_API_KEY: made.stdout.trim() } });
    expect([plain.status, plain.stdout]).toEqual([77, ""]);
    expect(plain.stderr).toContain("it takes the scope admin");
    const unreachable = user.skerry(["status", "--url", "http://127.0.0.1:1", "--key", "k", "--json"]);
    expect(unreachable.status).toBe(69);
    expect(JSON.parse(unreachable.stdout)).toEqual({
      error: {
        code: "SERVER_UNREACHABLE",
        message: "No Skerry server answers at http://127.0.0.1:1",
        hint: "Check that it runs (skerry serve), and SKERRY_URL or --url.",
      },
    });
    expect(user.skerry(["status"]).stderr).toContain("hint: Set SKERRY_API_KEY");
  });

  it("needs attention when an agent keeps trying what it may not, and a report says what", async () => {
    for (let index = 0; index < 100; index++)
      expect((await run("work", "reboot")).body).toMatchObject({ reason: "denied" });
    const shown = user.skerry(["status"], { env });
    expect(shown.status).toBe(1);
    expect(shown.stdout).toContain("100 violations (shell_exec by command 100)");
    expect(shown.stdout).toContain("for who keeps trying");
    expect(shown.stdout.trimEnd().split("\n").at(-1)).toBe("1 line needs attention");

    const report = user.skerry(["audit", "report", "--config", "c.yaml", "--since", "1h", "--json"]);
    expect(report.status).toBe(0);
    expect(JSON.parse(report.stdout)).toMatchObject({
      chain: { ok: true },
      results: [
        { name: "denied", count: 100 },
        { name: "success", count: 1 },
      ],
      refusals: [{ name: "policy.yaml: policies.tools.shell_exec.denied_commands[0]", count: 100 }],
      policy: {
        file: "policy.yaml",
        unusedGrants: [{ value: "run_code" }, { value: "file_read" }, { value: "file_write" }],
        idleRefusals: [
          { value: "halt", line: 5, path: "policies.tools.shell_exec.denied_commands[1]" },
          { value: "nproc" },
        ],
      },
    });
    const page = user.skerry(["audit", "report", "--policy", "policy.yaml", "--top", "1"]).stdout;
    expect(page).toMatch(/^audit report, .* to now\nchain whole: \d+ records in 1 file\n/);
    expect(page).toContain(
      "\nrefused, by rule\n  100  policy.yaml: policies.tools.shell_exec.denied_commands[0]\n",
    );
    expect(page).toContain("\ngranted by policy.yaml and not used\n");
  });

  it("has its state directory looked at without it", () => {
    const local = user.skerry(["status", "--local", "--json"]);
    expect(JSON.parse(local.stdout)).toMatchObject({
      ok: true,
      checks: [
        { name: "pool", found: expect.stringMatching(/^1 pool of this user's processes, 0 that cannot/) },
        { name: "audit", found: expect.stringMatching(/^can be written; last record \d+, .* are whole$/) },
        { name: "sessions", found: expect.stringMatching(/^\d+ sessions? with files here, \d+ running/) },
        { name: "disk" },
      ],
    });
    expect(local.status).toBe(0);
  });
});

requires("root", "bubblewrap", "cgroups").describe("the log of a server", () => {
  const hostile = encodeURIComponent(`${MARK}\u202e`);
  const attacks: Record<string, () => Promise<unknown>> = {
    "a name, a path and a query": async () => {
      await call("POST", "/v1/sessions", { sessionId: `${MARK}-name` });
      await call("PUT", `/v1/sessions/${MARK}-name/files/${MARK}.txt`, undefined, {
        "content-type": "application/octet-stream",
      });
      await call("GET", `/v1/sessions/${hostile}/files/%1b%5b2J${MARK}?${MARK}=%0d%0a${MARK}`);
      await call("GET", `/v1/${MARK}?api_key=${MARK}&key=${key}`);
      await call("GET", `/v1/sessions?cursor=${MARK}&${MARK}=1`);
      await call("PATCH", `/v1/sessions/${MARK}`);
    },
    headers: async () => {
      await call("GET", "/v1/sessions", undefined, {
        "user-agent": MARK,
        cookie: `session=${MARK}`,
        "x-request-id": `${MARK} \u0080`,
        "x-forwarded-for": MARK,
        "content-type": `text/${MARK}`,
      });
      await call("GET", "/v1/sessions", undefined, { authorization: `Bearer sk_${MARK}` });
      await call("GET", "/v1/sessions", undefined, { origin: `https://${MARK}.example` });
      await call("POST", "/v1/sessions", { sessionId: "a" }, { "idempotency-key": `${MARK} x` });
    },
    bodies: async () => {
      const send = (body: string) =>
        fetch(`${server.url}/v1/sessions/x/execute`, {
          method: "POST",
          headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
          body,
        });
      await send(`{"code": "${MARK}`);
      await send(JSON.stringify({ [MARK]: MARK }));
      await send(JSON.stringify({ __proto__: null, language: MARK, code: MARK }));
      await send(`{"__proto__":{"${MARK}":1}}`);
    },
    "code, commands, files, input and variables": async () => {
      const execute = (body: object, headers = {}) => call("POST", "/v1/sessions/x/execute", body, headers);
      await execute({ language: "python", code: `raise Exception("${MARK}\\x1b[2J")` });
      await execute({ argv: [`${MARK}-not-there`] });
      await execute({ command: `echo ${MARK} >&2; kill -9 $$`, env: { TOKEN: MARK }, stdin: MARK });
      await execute({ command: "cat f", files: { [`${MARK}/f`]: MARK, [`../${MARK}`]: "x" } });
      await execute({ command: `echo ${MARK}` }, { accept: "text/event-stream" });
      await execute({ command: "true", cwd: `/${MARK}` });
      await execute({ language: "python", code: MARK, context: `${MARK}` });
      await call("POST", `/v1/sessions/x/contexts/${MARK}/rollback`, { checkpoint: MARK });
    },
    decisions: async () => {
      const asked = run("x", `nproc # ${MARK}`);
      let id = "";
      await waitUntil(async () => {
        id = (await call("GET", "/v1/approvals")).body.items[0]?.id ?? "";
        return id !== "";
      });
      await call("POST", `/v1/approvals/${id}/decide`, { decision: "reject", reason: `${MARK}\u001b` });
      await asked;
      await call("POST", `/v1/approvals/${MARK}/decide`, { decision: MARK });
    },
    "what is no HTTP, and sockets where there are none": async () => {
      await raw(`${MARK} / HTTP/1.1\r\nhost: ${MARK}\r\n\r\n`);
      await raw(`GET /${MARK} HTTP/1.1\r\nhost: localhost\r\nx: ${MARK.repeat(3000)}\r\n\r\n`);
      const upgrade =
        "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
      for (const path of [`/v1/${MARK}`, `/v1/approvals/stream?${MARK}`, `/v1/sessions/${MARK}`])
        await raw(
          `GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n${upgrade}\r\n`,
        );
    },
    "a client that hangs up": async () => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/octet-stream" };
      const upload = httpRequest(`${server.url}/v1/sessions/x/files/${MARK}.bin`, { method: "PUT", headers });
      upload.on("error", () => undefined);
      upload.write(MARK.repeat(1000));
      await new Promise((resolve) => upload.once("socket", (socket) => socket.once("connect", resolve)));
      upload.destroy();
      const controller = new AbortController();
      const execution = fetch(`${server.url}/v1/sessions/x/execute`, {
        method: "POST",
        headers: {
          authorization: `Bearer ${key}`,
          "content-type": "application/json",
          accept: "text/event-stream",
        },
        body: JSON.stringify({ command: `echo ${MARK}; sleep 60` }),
        signal: controller.signal,
      });
      const reader = (await execution).body!.getReader();
      await reader.read();
      controller.abort();
      await reader.closed.catch(() => undefined);
    },
    "failures inside": async () => {
      const { default: Database } = await import("libsql");
      const database = new Database(join(user.home, "state/server/store.db"));
      try {
        await run(`${MARK}-name`, `echo ${MARK}`);
        database.exec("ALTER TABLE snapshots RENAME TO elsewhere");
        const failed = await call("GET", "/v1/snapshots");
        expect(failed).toMatchObject({ status: 503, body: { code: "STORE_FAILED" } });
        database.exec("ALTER TABLE elsewhere RENAME TO snapshots");
        database.exec(`UPDATE sessions SET settings = '${MARK} is no JSON' WHERE name = '${MARK}-name'`);
        expect((await call("GET", `/v1/sessions/${MARK}-name`)).body.code).toBe("INTERNAL");
        database.exec(`UPDATE sessions SET settings = '{}' WHERE name = '${MARK}-name'`);
      } finally {
        database.close();
      }
    },
  };

  it.each(Object.entries(attacks))("goes on after %s", async (_, attack) => {
    await attack();
    expect((await call("GET", "/v1/sessions")).status).toBe(200);
  });

  it("is lines of JSON, and has nothing of a caller's in it", async () => {
    // Until what was hung up on is over.
    await waitUntil(async () => (await call("GET", "/v1/pool")).body.running === 0);
    // It is written many lines at a time.
    await call("GET", "/healthz", undefined, { "x-request-id": "the-last-line" });
    await waitUntil(() => server.log().includes('"requestId":"the-last-line"'));
    const lines = server.log().trimEnd().split("\n");
    expect(lines.filter((line) => !isJson(line))).toEqual([]);
    expect(lines.filter((line) => line.includes(MARK) || line.includes(key.slice(-20)))).toEqual([]);
    expect(lines.filter((line) => !/^[\x20-\x7e“”…]*$/.test(line))).toEqual([]);
    const records = lines.map((line) => JSON.parse(line));
    // There was something to leave out.
    expect(
      records.filter(({ msg }) => msg === "request failed").map(({ error }) => error[0].split("\n")[0]),
    ).toEqual([expect.stringMatching(/^SandboxError STORE_FAILED: /), "SyntaxError"]);
    expect(records.filter(({ msg }) => msg === "request").length).toBeGreaterThan(100);
    const statuses = new Set(records.map(({ status }) => status));
    expect([200, 201, 400, 401, 403, 404, 405, 422, 500, 503].filter((each) => !statuses.has(each))).toEqual(
      [],
    );
  });
});

function isJson(line: string): boolean {
  try {
    return typeof JSON.parse(line) === "object";
  } catch {
    return false;
  }
}

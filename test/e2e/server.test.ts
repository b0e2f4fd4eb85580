import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { requires } from "../setup/requires.js";
import { type ServerProcess, startServer } from "../setup/server-process.js";
import { atTerminal } from "./at-terminal.js";
import { createUser, LAUNCHER, type User } from "./run-skerry.js";

const MIB = 1024 * 1024;
const POLICY = "policies:\n  tools:\n    shell_exec: { risk_level: high, requires_confirmation: true }\n";

let user: User;
let server: ServerProcess;
let key: string;

beforeEach(() => {
  user = createUser();
});

afterEach(async () => {
  server?.kill("SIGKILL");
  await server?.ended;
  // What a killed server left goes with the next command of the same state directory.
  user.skerry(["exec", "--", "true"]);
});

async function start(...args: string[]): Promise<void> {
  server = await startServer(user, args);
  key = server.key ?? key;
}

// biome-ignore lint/suspicious/noExplicitAny: whatever the server says
async function call(method: string, path: string, json?: unknown): Promise<{ status: number; body: any }> {
  const response = await fetch(`${server.url}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(json !== undefined && { "content-type": "application/json" }),
    },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  return { status: response.status, body: await response.json() };
}

const run = (session: string, command: string) =>
  call("POST", `/v1/sessions/${session}/execute`, { command });

/** A free one. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

requires("bubblewrap").describe("skerry serve", () => {
  it("shows its first key once, and keeps keys as hashes", async () => {
    await start();
    expect(key).toMatch(/^sk_[0-9a-f]{24}_[\w-]{43}$/);
    expect((await call("GET", "/v1/sessions")).status).toBe(200);
    server.kill("SIGTERM");
    expect(await server.ended).toBe(0);
    expect(server.log()).toContain('"route":"/v1/sessions"');
    expect(server.log()).not.toContain(key);
    const directory = join(user.home, "state", "server");
    const kept = readdirSync(directory).filter((name) => name.startsWith("store.db"));
    expect(kept).toContain("store.db");
    for (const name of kept) expect(readFileSync(join(directory, name)).includes(key.slice(-43))).toBe(false);
    await start();
    expect(server.key).toBeUndefined();
    expect((await call("GET", "/v1/sessions")).status).toBe(200);
  });

  it("is one for each state directory, and refuses to be reached in the clear by others", async () => {
    await start();
    const second = user.skerry(["serve", "--port", "0"]);
    expect(second).toMatchObject({ status: 73, stdout: "" });
    expect(second.stderr).toContain("Another server runs from this state directory");
    const open = user.skerry(["serve", "--host", "0.0.0.0"]);
    expect(open.status).toBe(78);
    expect(open.stderr).toContain("hint: Set server.tls.cert and server.tls.key");
  });

  it("has keys that are made, listed and revoked while it runs", async () => {
    await start();
    const made = user.skerry(["keys", "create", "--org", "acme", "--name", "ci", "--read-only", "--json"]);
    const { id, secret, scopes } = JSON.parse(made.stdout);
    expect(scopes).toEqual({ roles: "all", readOnly: true, approve: false, admin: false });
    key = secret;
    expect((await call("GET", "/v1/sessions")).body).toEqual({ items: [] });
    expect((await run("x", "true")).body.code).toBe("FORBIDDEN");
    expect(user.skerry(["keys", "ls", "--org", "acme"]).stdout).toContain(id);
    expect(user.skerry(["keys", "ls", "--org", "other"])).toMatchObject({ status: 0, stdout: "" });
    const others = user.skerry(["keys", "revoke", "--org", "other", id]);
    expect(others.status).toBe(66);
    expect(others.stderr).toContain("hint: List them with: skerry keys ls --org other\n");
    expect(user.skerry(["keys", "revoke", "--org", "acme", id]).status).toBe(0);
    expect((await call("GET", "/v1/sessions")).body.code).toBe("UNAUTHENTICATED");
    expect(user.skerry(["keys", "create", "--org", "a/b", "--name", "x"]).status).toBe(64);
    writeFileSync(
      join(user.home, "roles.yaml"),
      "policies:\n  agent_roles:\n    coder: { tools: [run_code] }\n",
    );
    writeFileSync(
      join(user.home, "roles-config.yaml"),
      `sandbox: { policy: { file: ${user.home}/roles.yaml } }\n`,
    );
    const args = ["keys", "create", "--config", "roles-config.yaml", "--name", "x", "--role"];
    expect(user.skerry([...args, "codr"]).stderr).toContain('has no role "codr"; it has coder\n');
    expect(user.skerry([...args, "coder"]).stderr).not.toContain("has no role");
  });

  it("has approvals decided on the command line", async () => {
    writeFileSync(join(user.home, "policy.yaml"), POLICY);
    await start("--policy", "policy.yaml");
    const env = { SKERRY_URL: server.url, SKERRY_API_KEY: key };
    expect(user.skerry(["approvals", "ls"], { env }).stderr).toBe("nothing waits for a decision\n");
    const pending = async () => {
      let ids: string[] = [];
      await waitUntil(async () => {
        ids = (await call("GET", "/v1/approvals")).body.items.map((each: { id: string }) => each.id);
        return ids.length === 1;
      });
      return ids[0]!;
    };
    const first = run("s", "echo \u001b[31mran");
    const id = await pending();
    const listed = user.skerry(["approvals", "ls"], { env });
    expect(listed.stdout).toContain(id);
    expect(listed.stdout).toContain(" 1 │ echo \\x1b[31mran\n");
    expect(listed.stdout).toMatch(/^ {2}Rule {6}policy\.yaml:3 /m);
    for (const name of ["Limits", "Runs in", "For", "Session"])
      expect(listed.stdout).toMatch(new RegExp(`^  ${name} +\\S`, "m"));
    expect(user.skerry(["approvals", "approve", id], { env })).toMatchObject({ status: 0, stderr: "" });
    expect((await first).body).toMatchObject({ success: true });
    const late = user.skerry(["approvals", "reject", id], { env });
    expect(late.status).toBe(73);
    expect(late.stderr).toContain("It is approved already, by key:");
    const unknown = user.skerry(["approvals", "reject", "nothing"], { env });
    expect(unknown.stderr).toContain("hint: List what waits with: skerry approvals ls\n");
    const second = run("s", "echo other");
    user.skerry(["approvals", "reject", await pending(), "--reason", "not on a Friday"], { env });
    expect((await second).body).toMatchObject({ reason: "rejected", error: "not on a Friday" });
    expect(user.skerry(["approvals", "ls"], { env: { ...env, SKERRY_API_KEY: "sk_x" } }).status).toBe(77);
    expect(user.skerry(["approvals", "ls", "--url", "http://127.0.0.1:1", "--key", "k"]).status).toBe(69);
  });

  it("keeps its sessions from the command line while it runs", async () => {
    await start();
    expect((await run("a", "echo kept > f")).body).toMatchObject({ success: true });
    user.skerry(["exec", "--session", "own", "--", "true"]);
    const sessions = JSON.parse(user.skerry(["sessions", "ls", "--json"]).stdout);
    const { sessionId: name } = sessions.find((each: { server?: boolean }) => each.server === true);
    expect(sessions).toHaveLength(2);
    expect(name).toMatch(/^[0-9a-f]{24}$/);
    expect(user.skerry(["status", "--local"]).stdout).toContain(
      "2 sessions with files here, 0 running; 1 of the server that runs here",
    );
    const refused = user.skerry(["sessions", "rm", "own", name]);
    expect(refused).toEqual({
      status: 73,
      stdout: "",
      stderr:
        `skerry: a running server has session "${name}"\n` +
        "hint: Use DELETE /v1/sessions/{sessionId} of the server, or stop it first.\n",
    });
    expect((await run("a", "cat f")).body).toMatchObject({ stdout: "kept\n" });
    const removed = user.skerry(["sessions", "rm", "own", "--json"]);
    expect([removed.status, JSON.parse(removed.stdout)]).toEqual([0, ["own"]]);
    server.kill("SIGTERM");
    await server.ended;
    expect(user.skerry(["sessions", "rm", name])).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  it("has a line for each request on a terminal, and says how long a stop may take", async () => {
    writeFileSync(join(user.home, "c.yaml"), "server: { stopDeadline: 2s }\n");
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const ended = atTerminal(
      [LAUNCHER, "serve", "--port", String(port), "--config", "c.yaml"],
      [
        { expect: "Ctrl-C stops it", send: "" },
        { expect: '"route":"/v1/sessions/:sessionId/files"', send: "\u0003" },
      ],
      { env: user.environment, cwd: user.home },
    );
    await waitUntil(async () => (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true);
    const secret = user.skerry(["keys", "create", "--name", "ci"]).stdout.trim();
    const headers = { authorization: `Bearer ${secret}`, "content-type": "application/json" };
    const body = JSON.stringify({ command: "sleep 100" });
    const long = fetch(`${url}/v1/sessions/a/execute`, { method: "POST", headers, body });
    await waitUntil(async () => {
      const listed = await (await fetch(`${url}/v1/executions`, { headers })).json();
      return (listed as { items: { state: string }[] }).items.some(({ state }) => state === "running");
    });
    await fetch(`${url}/v1/sessions/a/files`, { headers });
    expect(await (await long).json()).toMatchObject({ reason: "cancelled" });
    const { lines, status } = await ended;
    expect(status).toBe(0);
    expect(lines).toContain("stopping: running calls have up to 2 s; Ctrl-C again stops at once");
    expect(lines).toContain("Make others with: skerry keys create --name NAME");
    const logged = lines.filter((line) => line.includes('"route":"/v1/sessions/:sessionId/files"'));
    expect(logged).toEqual([expect.stringMatching(/^\[[\d:]{8}\] INFO: request \{.*"status":200.*\}$/)]);
  });

  it("stops gracefully: no new work, a deadline for what runs, and nothing left", async () => {
    writeFileSync(join(user.home, "c.yaml"), "server: { stopDeadline: 2s }\n");
    await start("--config", "c.yaml");
    const short = run("a", "touch on; sleep 1; echo ended");
    const long = run("b", "touch on; sleep 100; echo never");
    for (const name of ["a", "b"])
      await waitUntil(async () => (await call("GET", `/v1/sessions/${name}/files`)).body.items?.length === 1);
    server.kill("SIGTERM");
    await waitUntil(async () => (await fetch(`${server.url}/readyz`)).status === 503);
    const refused = await fetch(`${server.url}/v1/sessions`, { headers: { authorization: `Bearer ${key}` } });
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(await refused.json()).toMatchObject({ code: "SERVER_STOPPING" });
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect((await short).body).toMatchObject({ success: true, stdout: "ended\n" });
    expect((await long).body).toMatchObject({ success: false, reason: "cancelled" });
    expect(await server.ended).toBe(0);
    expect(readdirSync(join(user.home, "state", "ephemeral"))).toEqual([]);
  });

  it("takes a file of 1 GiB up and down in flat memory", async () => {
    writeFileSync(join(user.home, "large.yaml"), "sandbox: { limits: { workspace: 2gb } }\n");
    await start("--config", "large.yaml");
    await call("POST", "/v1/sessions", { sessionId: "large" });
    await run("large", "true");
    const piece = Buffer.alloc(MIB, "0123456789abcdef");
    const count = 1024;
    let most = 0;
    const timer = setInterval(() => {
      most = Math.max(most, server.memoryMb());
    }, 20);
    const before = server.memoryMb();
    const hash = createHash("sha256");
    for (let index = 0; index < count; index++) hash.update(piece);
    const url = `${server.url}/v1/sessions/large/files/big.bin`;
    const authorization = `Bearer ${key}`;
    await new Promise<void>((resolve, reject) => {
      const headers = { authorization, "content-type": "application/octet-stream" };
      const upload = httpRequest(url, { method: "PUT", headers }, (response) => {
        response.resume();
        response.statusCode === 200 ? resolve() : reject(new Error(`status ${response.statusCode}`));
      });
      upload.on("error", reject);
      void pipeline(
        Readable.from(
          (function* () {
            for (let index = 0; index < count; index++) yield piece;
          })(),
        ),
        upload,
      ).catch(reject);
    });
    const down = await fetch(url, { headers: { authorization } });
    const got = createHash("sha256");
    for await (const chunk of down.body!) got.update(chunk);
    clearInterval(timer);
    expect(got.digest("hex")).toBe(hash.digest("hex"));
    expect(most - before).toBeLessThan(150);
  });
});

describe("a server that is killed", () => {
  requires("bubblewrap").it("comes back with its sessions, and tells what was broken off", async () => {
    writeFileSync(join(user.home, "policy.yaml"), `${POLICY}    file_read: { risk_level: low }\n`);
    await start("--policy", "policy.yaml");
    const waiting = run("asked", "echo x").catch(() => undefined);
    await waitUntil(async () => (await call("GET", "/v1/approvals")).body.items.length === 1);
    const [{ id }] = (await call("GET", "/v1/approvals")).body.items;
    server.kill("SIGKILL");
    await server.ended;
    await waiting;
    await start("--policy", "policy.yaml");
    expect((await call("GET", "/v1/approvals")).body).toEqual({ items: [] });
    const decided = await call("POST", `/v1/approvals/${id}/decide`, { decision: "approve" });
    expect(decided).toMatchObject({
      status: 409,
      body: { accepted: false, approval: { outcome: { decision: "interrupted" } } },
    });
    const { items } = (await call("GET", "/v1/audit?eventType=approval_interrupted")).body;
    expect(items).toMatchObject([{ result: "rejected", details: { approval: id } }]);
    const [execution] = (await call("GET", "/v1/executions?sessionId=asked")).body.items;
    expect(execution.state).toBe("interrupted");
  });
});

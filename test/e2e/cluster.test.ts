import { request as httpRequest, type IncomingMessage } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { verifyAudit } from "../../src/guard/audit/index.js";
import { waitUntil } from "../../src/kit/wait-until.js";
import { ClusterServer, openEvents } from "../setup/cluster-server.js";
import { requires } from "../setup/requires.js";
import { descendantsOf, isAlive } from "../setup/server-process.js";
import { createDatabase } from "../setup/test-databases.js";

/** Nothing that a busy machine does in its sleep, and not long to wait for. */
const LEASE = "16s";
/** A lease, a look, and a machine that is busy with other things. */
const STATED_MS = 60_000;
const POLICY = `
policies:
  tools:
    shell_exec: { risk_level: low }
    run_code: { risk_level: high, requires_confirmation: true }
    file_read: { risk_level: low }
    file_list: { risk_level: low }
    file_write: { risk_level: low }
`;

let database: Awaited<ReturnType<typeof createDatabase>>;
let key: string;
const servers: ClusterServer[] = [];
const [a, b, c] = [0, 1, 2].map(() => {
  const server = new ClusterServer();
  servers.push(server);
  return server;
}) as [ClusterServer, ClusterServer, ClusterServer];

requires("bubblewrap", "postgresql").describe("three servers on one PostgreSQL", { timeout: 240_000 }, () => {
  beforeAll(async () => {
    database = await createDatabase();
    // The first makes the key. However busy the machine is, it has the time to come back.
    await a.start({ ...options(), lease: "10m" });
    key = a.served.key!;
    await Promise.all([b.start(options()), c.start(options())]);
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.remove()));
  });

  const options = () => ({ store: database.url, lease: LEASE, policy: POLICY });
  const isLost = {
    status: 404,
    body: { code: "SESSION_NOT_FOUND", message: expect.stringContaining("lost with its server") },
  };

  it("have a session of one that was killed when it is back in time, and its callers hear that it was away", async () => {
    await a.run(key, "kept", "echo kept > f");
    const events = await openEvents(b, key, "kept", "echo on; sleep 600");
    await waitUntil(() => events.text().includes("event: stdout"), STATED_MS);
    const upload = beginUpload(c, "/v1/sessions/kept/files/half");
    await waitUntil(async () => (await a.call(key, "GET", "/v1/pool")).body.running === 2, STATED_MS);
    await a.end("SIGKILL");
    expect(await events.over).toBe("cut");
    expect(events.text()).not.toContain("event: exit");
    const refused = await upload.answer;
    expect([
      refused.statusCode,
      refused.headers["retry-after"],
      JSON.parse(await text(refused)),
    ]).toMatchObject([503, "5", { code: "SERVER_UNREACHABLE" }]);
    upload.stop();
    const away = await c.call(key, "GET", "/v1/sessions/kept");
    expect(away).toMatchObject({ status: 503, body: { code: "SERVER_UNREACHABLE" } });
    await a.start();
    expect((await b.run(key, "kept", "cat f")).body.stdout).toBe("kept\n");
    // The list is written a moment after things happen.
    await waitUntil(async () => (await states(c, "kept")).every((state) => state !== "running"), STATED_MS);
    expect(await states(c, "kept")).toEqual(["done", "interrupted", "done"]);
  });

  it("end what a dead one had, once, within the stated time, and what comes back too late is cleaned", async () => {
    await a.end("SIGTERM");
    await a.start(options());
    const names = ["lost-1", "lost-2", "lost-3"];
    for (const name of names) await a.run(key, name, "echo x > f");
    const { sessionUid } = (await b.call(key, "GET", "/v1/sessions/lost-1")).body;
    await b.call(key, "POST", "/v1/sessions/lost-1/snapshots");
    const events = await openEvents(b, key, "lost-1", "sleep 600");
    await waitUntil(() => events.text().includes("event: started"), STATED_MS);
    const asked = a.call(key, "POST", "/v1/sessions/lost-2/execute", { language: "bash", code: "true" });
    const pending = async () => (await c.call(key, "GET", "/v1/approvals")).body.items;
    await waitUntil(async () => (await pending()).length === 1, STATED_MS);
    const [{ id: approval }] = await pending();
    for (const name of ["lost-1", "lost-2"])
      await waitUntil(async () => (await states(c, name)).includes("running"), STATED_MS);
    expect(a.directories()).toHaveLength(4);
    await Promise.all([a.end("SIGKILL"), asked.catch(() => undefined)]);
    await waitUntil(
      async () => (await c.call(key, "GET", "/v1/sessions?state=ended")).body.items.length === 4,
      STATED_MS,
    );
    const ended = (await b.call(key, "GET", "/v1/sessions?state=ended")).body.items;
    expect(new Set(ended.map(({ endedWhy }: { endedWhy: string }) => endedWhy))).toEqual(
      new Set(["server-lost"]),
    );
    for (const server of [b, c]) {
      expect(await server.call(key, "GET", "/v1/sessions/lost-1")).toMatchObject(isLost);
      // Not a new one, empty, under the same name.
      expect(await server.run(key, "lost-1", "ls")).toMatchObject(isLost);
    }
    expect((await b.call(key, "GET", "/v1/snapshots")).body).toEqual({ items: [] });
    expect((await b.call(key, "GET", "/v1/executions?state=running")).body.items).toEqual([]);
    const decided = await b.call(key, "POST", `/v1/approvals/${approval}/decide`, { decision: "approve" });
    expect(decided.body.approval.outcome.decision).toBe("interrupted");

    // Recorded once, by the server that ended it.
    const told = async (eventType: string) =>
      (await Promise.all([b, c].map((each) => each.records({ eventType })))).flat();
    await waitUntil(async () => (await told("session_lost")).length === 4, STATED_MS);
    await waitUntil(async () => (await told("execution_interrupted")).length === 2, STATED_MS);
    await waitUntil(async () => (await told("approval_interrupted")).length === 1, STATED_MS);
    const sessions = (await told("session_lost")).map(({ session_id }) => session_id);
    expect([sessions.length, new Set(sessions)]).toEqual([
      4,
      new Set(ended.map(({ sessionUid }: { sessionUid: string }) => sessionUid)),
    ]);
    const executions = await told("execution_interrupted");
    expect(executions.map(({ tool, result }) => `${tool} ${result}`).sort()).toEqual([
      "run_code interrupted",
      "shell_exec interrupted",
    ]);
    expect(executions.find(({ tool }) => tool === "shell_exec")!.session_id).toBe(sessionUid);
    expect(await told("approval_interrupted")).toMatchObject([{ result: "rejected", details: { approval } }]);

    // The name is free.
    expect((await c.call(key, "POST", "/v1/sessions", { sessionId: "lost-1" })).status).toBe(201);
    expect((await b.run(key, "lost-1", "ls")).body.stdout).toBe("");
    await a.start();
    await waitUntil(() => a.directories().length === 0, STATED_MS);
    expect((await a.call(key, "GET", "/v1/sessions")).body.items).toHaveLength(1);
    expect((await a.run(key, "lost-1", "echo again")).body.stdout).toBe("again\n");
  });

  it("have nothing done by one that was stopped and wakes when it is dead", async () => {
    await b.run(key, "frozen", "echo x > f");
    const events = await openEvents(b, key, "frozen", "while sleep 1; do echo tick; done");
    await waitUntil(() => events.text().includes("tick"), STATED_MS);
    const inside = descendantsOf(b.served.pid);
    b.served.kill("SIGSTOP");
    const seen = events.text();
    // What is asked of it meanwhile waits at its door.
    const asked = [
      b.run(key, "frozen", "echo late > late"),
      b.call(key, "GET", "/v1/sessions/frozen/files/f"),
      b.call(key, "POST", "/v1/sessions", { sessionId: "late" }),
      b.call(key, "DELETE", "/v1/sessions/frozen"),
      b.run(key, "unheard-of", "true"),
    ].map((each) => each.then(({ status }) => status).catch(() => "hung up"));
    const forwarded = a.call(key, "GET", "/v1/sessions/frozen/files/f");
    // A request to another server does not wait for ever.
    expect((await forwarded).status).toBe(503);
    await waitUntil(async () => (await a.call(key, "GET", "/v1/sessions/frozen")).status === 404, STATED_MS);
    expect(await a.call(key, "GET", "/v1/sessions/frozen")).toMatchObject(isLost);
    expect((await a.call(key, "POST", "/v1/sessions", { sessionId: "frozen" })).status).toBe(201);
    expect((await a.run(key, "frozen", "echo new > f; cat f")).body.stdout).toBe("new\n");

    const wokenAt = new Date();
    b.served.kill("SIGCONT");
    const answers = await Promise.all(asked);
    expect(answers.filter((answer) => answer !== 503 && answer !== "hung up")).toEqual([]);
    await events.over;
    // What was on its way when it was stopped may have come; nothing of the many that came afterwards.
    expect(events.text().slice(seen.length).match(/tick/g)?.length ?? 0).toBeLessThan(5);
    expect(events.text()).not.toContain("event: exit");
    expect([74, "SIGKILL"]).toContain(await b.served.ended);
    await waitUntil(() => [...inside].every((each) => !isAlive(each)), STATED_MS);
    const begun = (await b.records({ eventType: "sandbox_execution" })).filter(
      ({ started_at }) => started_at !== null && started_at > wokenAt.toISOString(),
    );
    expect(begun).toEqual([]);
    expect((await a.run(key, "frozen", "ls; cat f")).body.stdout).toBe("f\nnew\n");
    const names = (await a.call(key, "GET", "/v1/sessions")).body.items.map(
      ({ sessionId }: { sessionId: string }) => sessionId,
    );
    expect(names.sort()).toEqual(["frozen", "lost-1"]);

    await b.start();
    await waitUntil(() => b.directories().length === 0, STATED_MS);
    expect((await b.run(key, "frozen", "cat f")).body.stdout).toBe("new\n");
    await b.end("SIGTERM");
    expect(await verifyAudit(join(b.user.home, "state", "audit"))).toMatchObject({ ok: true });
  });
});

/** How the executions of a session stand, the latest first. */
async function states(server: ClusterServer, session: string): Promise<string[]> {
  const { items } = (await server.call(key, "GET", `/v1/executions?sessionId=${session}`)).body;
  return items.map(({ state }: { state: string }) => state);
}

/** An upload that goes on until it is stopped. */
function beginUpload(
  server: ClusterServer,
  path: string,
): { answer: Promise<IncomingMessage>; stop(): void } {
  const request = httpRequest(`${server.url}${path}`, {
    method: "PUT",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/octet-stream" },
  });
  const timer = setInterval(() => request.write("some more\n"), 20);
  const answer = new Promise<IncomingMessage>((resolve, reject) => {
    request.once("response", resolve).once("error", reject);
  });
  request.write("some\n");
  return {
    answer,
    stop: () => {
      clearInterval(timer);
      request.destroy();
    },
  };
}

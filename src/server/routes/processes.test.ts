import { readdirSync, readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { askForEvents, eventsOf, type SentEvent } from "../../../test/setup/server-sent-events.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";

const POLICY = `
policies:
  tools:
    shell_exec: { risk_level: medium }
    run_code: { requires_confirmation: true }
    file_read: { risk_level: low }
  agent_roles:
    worker: { tools: [shell_exec, run_code, file_read] }
    reader: { tools: [file_read] }
`;

let server: TestServer;
let key: string;

const at = (session: string, rest = "") => `/v1/sessions/${session}/processes${rest}`;
const start = (session: string, body: object, by = key) => server.call(by, "POST", at(session), body);
const look = async (session: string, id: string) =>
  (await server.call(key, "GET", at(session, `/${id}`))).body;
const logs = async (session: string, id: string, query = "") =>
  (await server.call(key, "GET", at(session, `/${id}/logs${query}`))).body;
const ended = (session: string, id: string) =>
  waitUntil(async () => (await look(session, id)).state === "ended");
const printed = async (session: string, id: string): Promise<string> =>
  (await logs(session, id)).items.map(({ text }: { text: string }) => text).join("");

/** Processes of this host whose command line has a text. */
function hostProcesses(text: string): string[] {
  return readdirSync("/proc").filter((name) => {
    try {
      return /^\d+$/.test(name) && readFileSync(`/proc/${name}/cmdline`, "utf8").includes(text);
    } catch {
      // It ended meanwhile.
      return false;
    }
  });
}

/** Asks for a process and hangs up: at once, or when there is an answer. */
function startAndHangUp(session: string, body: object, when: "at once" | "when it answers"): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const request = httpRequest(
      `${server.url}${at(session)}`,
      { method: "POST", agent: false, headers },
      (response) => {
        response.destroy();
        resolve();
      },
    );
    request.on("error", (error) => (when === "at once" ? resolve() : reject(error)));
    request.end(JSON.stringify(body), () => {
      if (when === "at once") request.destroy();
    });
  });
}

requires("bubblewrap", "python3").describe("a process", () => {
  beforeAll(async () => {
    server = await TestServer.open({ server: { processes: { perSession: 3 } } });
    key = (await server.key()).secret;
  });
  afterAll(() => server.close());

  it("survives the connection that started it, is listed, and is killed and forgotten by DELETE", async () => {
    await startAndHangUp("own", { argv: ["sleep", "4242"], agentId: "me" }, "when it answers");
    const { items } = (await server.call(key, "GET", at("own"))).body;
    expect(items).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{24}$/),
        state: "running",
        command: "sleep 4242",
        startedAt: expect.any(String),
        outputBytes: 0,
      },
    ]);
    const [{ id }] = items;
    expect(await look("own", id)).toEqual(items[0]);
    expect((await server.call(key, "GET", `/v1/executions/${id}`)).body).toMatchObject({
      tool: "shell_exec",
      state: "running",
    });
    expect((await server.call(key, "DELETE", at("own", `/${id}`))).body).toEqual({ deleted: true });
    expect(await server.call(key, "GET", at("own", `/${id}`))).toMatchObject({
      status: 404,
      body: { code: "NOT_FOUND" },
    });
    expect((await server.call(key, "GET", at("own"))).body).toEqual({ items: [] });
    expect((await server.call(key, "GET", `/v1/executions/${id}`)).body).toMatchObject({
      state: "done",
      result: { success: false, reason: "cancelled" },
    });
    const audited = (await server.call(key, "GET", "/v1/audit?sessionId=own")).body.items;
    expect(audited).toMatchObject([{ result: "cancelled", agent_id: "me", details: { background: true } }]);
    const { body } = await server.call(key, "POST", "/v1/sessions/own/execute", { command: "pgrep sleep" });
    expect(body.stdout).toBe("");
  });

  it("takes what execute takes, and says how it ended", async () => {
    const { status, body } = await start("all", {
      language: "python",
      code: "import sys, os\nprint(sys.stdin.read() + os.environ['A'] + open('f').read() + os.getcwd())\nsys.exit(3)",
      stdin: "in ",
      env: { A: "env " },
      files: { f: "file " },
    });
    expect(status).toBe(201);
    await ended("all", body.id);
    expect(await look("all", body.id)).toEqual({
      id: body.id,
      state: "ended",
      command: expect.stringMatching(/^import sys, os\n/),
      startedAt: body.startedAt,
      endedAt: expect.any(String),
      reason: "exited",
      exitCode: 3,
      signal: null,
      error: "Exit code 3",
      auditId: expect.any(String),
      outputBytes: 23,
      result: expect.objectContaining({ version: 1, reason: "exited", exitCode: 3, filesRead: ["f"] }),
    });
    expect(await printed("all", body.id)).toBe("in env file /workspace\n");
  });

  it.each([
    ["a context", { language: "python", code: "1", context: "c" }, 400, "INVALID_ARGUMENT"],
    ["nothing to run", {}, 400, "INVALID_ARGUMENT"],
    ["a large file", { command: "ls", files: { f: "x".repeat(1_100_000) } }, 413, "BODY_TOO_LARGE"],
    ["a program that is not there", { argv: ["no-such-program"] }, 422, "COMMAND_NOT_FOUND"],
  ])("is not made of %s, and then there is none", async (_, body, status, code) => {
    const answer = await start("none", body);
    expect({ status: answer.status, code: answer.body.code }).toEqual({ status, code });
    const list = await server.call(key, "GET", at("none"));
    if (list.status === 200) expect(list.body).toEqual({ items: [] });
  });

  it("hears signals of the list, and none once it has ended", async () => {
    const code = `
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (print("got TERM", flush=True), sys.exit(5)))
print("ready", flush=True)
while True: time.sleep(60)
`;
    const { id } = (await start("sig", { language: "python", code })).body;
    await waitUntil(async () => (await printed("sig", id)) === "ready\n");
    const signal = (name: string) => server.call(key, "POST", at("sig", `/${id}/signal`), { signal: name });
    expect(await signal("SIGNOTHING")).toMatchObject({ status: 400, body: { code: "INVALID_ARGUMENT" } });
    expect(await signal("SIGSTOP")).toMatchObject({ status: 200, body: { state: "running" } });
    expect(await signal("SIGCONT")).toMatchObject({ status: 200 });
    expect(await signal("SIGTERM")).toMatchObject({ status: 200 });
    await ended("sig", id);
    expect(await printed("sig", id)).toBe("ready\ngot TERM\n");
    expect(await look("sig", id)).toMatchObject({ reason: "exited", exitCode: 5 });
    expect(await signal("SIGTERM")).toMatchObject({ status: 409, body: { code: "CONFLICT" } });
    const recorded = (await server.call(key, "GET", "/v1/audit?sessionId=sig&eventType=process_signalled"))
      .body;
    expect(recorded.items[1]).toMatchObject({ details: { execution: id, signal: "SIGTERM" } });
  });

  it("that has no role is not for a key that has some only", async () => {
    const some = (await server.key("default", { roles: ["worker"] })).secret;
    const { id } = (await start("plain", { argv: ["sleep", "60"] })).body;
    const forbidden = { status: 403, body: { code: "FORBIDDEN" } };
    expect((await server.call(some, "GET", at("plain"))).body.items).toHaveLength(1);
    expect(await server.call(some, "GET", at("plain", `/${id}/logs`))).toMatchObject(forbidden);
    expect(await server.call(some, "DELETE", at("plain", `/${id}`))).toMatchObject(forbidden);
  });

  it("has logs by cursor, both outputs in their order and whole characters, and a wait for more", async () => {
    const code = `
import os, sys, time
for byte in "é→😀\\n".encode():
    os.write(1, bytes([byte]))
    time.sleep(0.002)
# Two pipes have no order but that of what was read.
while not os.path.exists("read"): time.sleep(0.01)
os.write(2, b"err\\n")
while not os.path.exists("go"): time.sleep(0.01)
os.write(1, b"late\\n")
`;
    const { id } = (await start("logs", { language: "python", code })).body;
    let first: Awaited<ReturnType<typeof logs>> = {};
    const seen = (text: string) =>
      waitUntil(async () => {
        first = await logs("logs", id);
        return JSON.stringify(first.items).includes(text);
      });
    await seen("😀\\n");
    await server.call(key, "POST", "/v1/sessions/logs/execute", { command: "touch read" });
    await seen("err");
    expect(first).toEqual({
      items: [
        { stream: "stdout", text: "é→😀\n" },
        { stream: "stderr", text: "err\n" },
      ],
      next: "14",
      dropped: 0,
      ended: false,
    });
    expect(await logs("logs", id, `?cursor=${first.next}`)).toMatchObject({ items: [], next: first.next });
    const waiting = logs("logs", id, `?cursor=${first.next}&waitMs=30000`);
    await server.call(key, "POST", "/v1/sessions/logs/execute", { command: "touch go" });
    expect(await waiting).toMatchObject({ items: [{ stream: "stdout", text: "late\n" }], dropped: 0 });
    await ended("logs", id);
    expect(await logs("logs", id, "?cursor=19&waitMs=30000")).toEqual({
      items: [],
      next: "19",
      dropped: 0,
      ended: true,
    });
    for (const query of ["cursor=20", "cursor=-1", "cursor=x", "waitMs=30001", "limit=1"])
      expect((await logs("logs", id, `?${query}`)).code).toBe("INVALID_ARGUMENT");
  });

  it("is followed as events, and who comes back with the last id has missed nothing", async () => {
    const code = `
import sys
for n in range(20000):
    print("line", n, "→", file=sys.stdout if n % 7 else sys.stderr, flush=n % 50 == 0)
`;
    const { id } = (await start("follow", { language: "python", code })).body;
    const url = `${server.url}${at("follow", `/${id}/logs`)}`;
    const seen: SentEvent[] = [];
    // Each connection is lost after a few events, wherever that is.
    for (let round = 1; seen.at(-1)?.event !== "exit"; round++) {
      const last = seen.at(-1)?.id;
      const response = await askForEvents(url, key, last === undefined ? {} : { "last-event-id": last });
      let count = 0;
      for await (const event of eventsOf(response)) {
        seen.push(event);
        if (++count >= round) break;
      }
    }
    const text = (stream: string) =>
      seen
        .filter(({ event }) => event === stream)
        .map(({ data }) => data.text)
        .join("");
    const lines = Array.from({ length: 20_000 }, (_, n) => n);
    const expected = (isOut: boolean) =>
      lines.flatMap((n) => ((n % 7 !== 0) === isOut ? [`line ${n} →\n`] : [])).join("");
    expect(text("stdout") === expected(true)).toBe(true);
    expect(text("stderr") === expected(false)).toBe(true);
    expect(seen.some(({ event }) => event === "dropped")).toBe(false);
    expect(seen.at(-1)).toMatchObject({ data: { state: "ended", reason: "exited", exitCode: 0 } });
    const again = await askForEvents(`${url}?cursor=0`, key, { "last-event-id": seen.at(-1)!.id });
    const rest: SentEvent[] = [];
    for await (const event of eventsOf(again)) rest.push(event);
    expect(rest).toEqual([seen.at(-1)]);
  });

  it("is never held back, and what is dropped is told", async () => {
    const code = "import sys\nfor n in range(400000): sys.stdout.write(f'number {n}\\n')";
    const { id } = (await start("much", { language: "python", code })).body;
    await ended("much", id);
    const page = await logs("much", id, `?limit=${1024 * 1024}`);
    const kept = page.items.map(({ text }: { text: string }) => text).join("");
    expect(page.dropped + kept.length).toBe((await look("much", id)).outputBytes);
    expect(kept.length).toBe(1024 * 1024);
    expect(kept.endsWith("number 399999\n")).toBe(true);
    const events = eventsOf(await askForEvents(`${server.url}${at("much", `/${id}/logs`)}`, key));
    expect((await events.next()).value).toMatchObject({ event: "dropped", data: { bytes: page.dropped } });
    await events.return(undefined);
  });

  it("is one of few that run in a session, and of few that are remembered", async () => {
    const running = [];
    for (let count = 0; count < 3; count++) running.push(await start("few", { argv: ["sleep", "60"] }));
    expect(running.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(await start("few", { argv: ["sleep", "60"] })).toMatchObject({
      status: 409,
      body: { code: "CONFLICT", message: "3 processes of this session run, which is the limit" },
    });
    await server.call(key, "DELETE", at("few", `/${running[0]!.body.id}`));
    const ids: string[] = [];
    for (let count = 0; count < 34; count++) {
      const { id } = (await start("few", { argv: ["true"] })).body;
      await ended("few", id);
      ids.push(id);
    }
    const { items } = (await server.call(key, "GET", at("few"))).body;
    const kept = items.filter(({ state }: { state: string }) => state === "ended");
    expect(kept.map(({ id }: { id: string }) => id)).toEqual(ids.slice(-32));
  });

  it("goes with its session, with everything it started, and its followers are told", async () => {
    const command = "setsid sleep 71717 & trap '' TERM HUP; echo $$ > here; sleep 71717; sleep 71717";
    const { id } = (await start("gone", { command })).body;
    const follower = eventsOf(await askForEvents(`${server.url}${at("gone", `/${id}/logs`)}`, key));
    const told = follower.next();
    await waitUntil(() => hostProcesses("71717").length >= 3);
    expect((await server.call(key, "DELETE", "/v1/sessions/gone")).status).toBe(200);
    expect(hostProcesses("71717")).toEqual([]);
    expect((await told).value).toMatchObject({ event: "exit", data: { reason: "cancelled" } });
    expect((await server.call(key, "GET", at("gone"))).status).toBe(404);
    // The name is another session's now, which has none of it.
    await server.call(key, "POST", "/v1/sessions", { sessionId: "gone" });
    expect((await server.call(key, "GET", at("gone"))).body).toEqual({ items: [] });
  });
});

requires("bubblewrap", "python3").describe("a process under a policy", () => {
  let approver: string;

  beforeAll(async () => {
    server = await TestServer.open({ policy: POLICY });
    key = (await server.key()).secret;
    approver = (await server.key("default", { readOnly: true, approve: true })).secret;
  });
  afterAll(() => server.close());

  const pendingId = async () => {
    let ids: string[] = [];
    await waitUntil(async () => {
      const { items } = (await server.call(approver, "GET", "/v1/approvals")).body;
      ids = items.map(({ id }: { id: string }) => id);
      return ids.length === 1;
    });
    return ids[0]!;
  };
  const decide = async (decision: "approve" | "reject") =>
    server.call(approver, "POST", `/v1/approvals/${await pendingId()}/decide`, { decision });
  const program = { language: "python", code: "print('ran')", role: "worker" };

  it("goes on starting when its caller hangs up while a person is asked", async () => {
    await startAndHangUp("asked", program, "at once");
    await pendingId();
    const [waiting] = (await server.call(key, "GET", at("asked"))).body.items;
    expect(waiting).toMatchObject({ state: "starting", command: "print('ran')", role: "worker" });
    expect(
      await server.call(key, "POST", at("asked", `/${waiting.id}/signal`), { signal: "SIGTERM" }),
    ).toMatchObject({ status: 409, body: { code: "CONFLICT", message: "It has not started yet" } });
    await decide("approve");
    await ended("asked", waiting.id);
    expect(await printed("asked", waiting.id)).toBe("ran\n");

    await startAndHangUp("asked", program, "at once");
    await decide("reject");
    await waitUntil(async () => (await server.call(key, "GET", at("asked"))).body.items.length === 2);
    const [, refused] = (await server.call(key, "GET", at("asked"))).body.items;
    await ended("asked", refused.id);
    expect(await look("asked", refused.id)).toMatchObject({ code: "CONFIRMATION_REJECTED", outputBytes: 0 });
    const { body } = await server.call(key, "GET", `/v1/executions/${refused.id}`);
    expect(body).toMatchObject({ state: "done", result: { code: "CONFIRMATION_REJECTED" } });
  });

  it("waits to start with few others, also when no client waits for it", async () => {
    const asked = ["many-1", "many-2"].flatMap((session) => Array(32).fill(session));
    await Promise.all(asked.map((session) => startAndHangUp(session, program, "at once")));
    const waiting = async (session: string) =>
      (await server.call(key, "GET", at(session))).body.items?.length ?? 0;
    await waitUntil(async () => (await waiting("many-1")) + (await waiting("many-2")) === 64);
    expect(await start("many-3", program)).toMatchObject({ status: 429, body: { code: "RATE_LIMITED" } });
    for (const session of ["many-1", "many-2"])
      expect((await server.call(key, "DELETE", `/v1/sessions/${session}`)).status).toBe(200);
    expect((await server.call(approver, "GET", "/v1/approvals")).body).toEqual({ items: [] });
    const again = start("many-3", program);
    await decide("approve");
    expect((await again).status).toBe(201);
  });

  it("that may not start is an error to its caller, and in no list", async () => {
    const asking = start("refused", program);
    await decide("reject");
    expect(await asking).toMatchObject({ status: 403, body: { code: "CONFIRMATION_REJECTED" } });
    expect(await start("refused", { argv: ["true"], role: "reader" })).toMatchObject({
      status: 403,
      body: { code: "POLICY_DENIED" },
    });
    expect((await server.call(key, "GET", at("refused"))).body).toEqual({ items: [] });
  });

  it("is nothing that a key without its role can read, signal or end", async () => {
    const reader = (await server.key("default", { roles: ["reader"] })).secret;
    const readOnly = (await server.key("default", { readOnly: true })).secret;
    await server.call(key, "POST", "/v1/sessions", { sessionId: "roles" });
    const { id } = (await start("roles", { command: "echo secret; sleep 60", role: "worker" })).body;
    await waitUntil(async () => (await printed("roles", id)) === "secret\n");
    const forbidden = { status: 403, body: { code: "FORBIDDEN" } };
    expect(await server.call(reader, "GET", at("roles", `/${id}/logs`))).toMatchObject(forbidden);
    for (const by of [reader, readOnly]) {
      const signal = { signal: "SIGKILL" };
      expect(await server.call(by, "POST", at("roles", `/${id}/signal`), signal)).toMatchObject(forbidden);
      expect(await server.call(by, "DELETE", at("roles", `/${id}`))).toMatchObject(forbidden);
      expect(await start("roles", { command: "true", role: "worker" }, by)).toMatchObject(forbidden);
    }
    expect((await server.call(readOnly, "GET", at("roles", `/${id}/logs`))).status).toBe(200);
    expect(await look("roles", id)).toMatchObject({ state: "running" });
  });
});

requires("bubblewrap").describe("a server that stops", () => {
  afterEach(() => server.close());

  const stopped = async (stopDeadline: string, command: string) => {
    server = await TestServer.open({ server: { stopDeadline } });
    key = (await server.key()).secret;
    const { id } = (await start("s", { command })).body;
    await waitUntil(async () => (await printed("s", id)) === "ready\n");
    const opened = await server.call(key, "POST", "/v1/sessions/s/terminals", { rows: 24, columns: 80 });
    await server.stop();
    await server.start();
    const execution = async (each: string) => (await server.call(key, "GET", `/v1/executions/${each}`)).body;
    expect((await server.call(key, "GET", at("s"))).body).toEqual({ items: [] });
    return { process: await execution(id), terminal: await execution(opened.body.id) };
  };
  const cancelled = { state: "done", result: { reason: "cancelled" } };

  it("asks its processes to end and hangs up its terminals, and does not wait for its deadline", async () => {
    // A deadline that this test would not live to see.
    const command = "trap 'echo bye > bye; exit 4' TERM; echo ready; while :; do sleep 0.02; done";
    const { process, terminal } = await stopped("10m", command);
    expect(process).toMatchObject({ state: "done", result: { reason: "exited", exitCode: 4 } });
    expect(terminal).toMatchObject(cancelled);
    const said = await server.fetch(key, "GET", "/v1/sessions/s/files/bye");
    expect(await said.text()).toBe("bye\n");
  });

  it("kills those that do not", async () => {
    const { process } = await stopped("1s", "trap '' TERM; echo ready; while :; do sleep 0.02; done");
    expect(process).toMatchObject(cancelled);
  });
});

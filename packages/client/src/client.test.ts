import { beforeAll, expect } from "vitest";
import { waitUntil } from "../../../src/kit/wait-until.js";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { type ExecutionEvent, SkerryClient } from "./index.js";

const { describe, it } = requires("bubblewrap", "python3");

let testServer: TestServer;
let client: SkerryClient;
beforeAll(async () => {
  testServer = await TestServer.open();
  client = new SkerryClient({ url: testServer.url, apiKey: testServer.admin });
});

describe("a client", () => {
  it("makes a session once, runs in it, keeps it past its scope, and ends it", async () => {
    const idempotencyKey = "the-same";
    let name: string;
    {
      await using session = await client.sessions.create({ idempotencyKey });
      name = session.sessionId;
      expect((await client.sessions.create({ idempotencyKey })).sessionId).toBe(name);
      const events: ExecutionEvent[] = [];
      for await (const event of session.exec(["sh", "-c", "echo out; echo err >&2; exit 3"]))
        events.push(event);
      expect(events.map(({ type }) => type)).toEqual(
        expect.arrayContaining(["execution", "started", "stdout", "stderr", "exit"]),
      );
      expect(events.at(-1)).toMatchObject({ type: "exit", result: { success: false, exitCode: 3 } });
      expect(await session.runCode("print(6*7)", { language: "python" })).toMatchObject({
        success: true,
        stdout: "42\n",
        sessionId: name,
      });
      expect(await session.info()).toMatchObject({ sessionId: name, state: "active" });
    }
    await client.sessions.get(name).delete();
    await expect(client.sessions.get(name).info()).rejects.toMatchObject({
      code: "SESSION_NOT_FOUND",
      status: 404,
      requestId: expect.any(String),
    });
    const ended = [];
    for await (const each of client.sessions.list({ state: "ended" })) ended.push(each.sessionId);
    expect(ended).toContain(name);
  });

  it("ends what runs when the loop is left, or the request is cancelled", async () => {
    await using session = await client.sessions.create();
    const isRunning = async () => {
      for await (const { state } of client.executions.list({ sessionId: session.sessionId }))
        if (state === "running") return true;
      return false;
    };
    for await (const event of session.exec("echo on; sleep 1000")) if (event.type === "stdout") break;
    await waitUntil(async () => !(await isRunning()));
    const controller = new AbortController();
    const waiting = session
      .exec("sleep 1000", { signal: controller.signal })
      .then(undefined, (error) => error);
    await waitUntil(isRunning);
    controller.abort();
    expect(await waiting).toMatchObject({ code: "CANCELLED" });
    await waitUntil(async () => !(await isRunning()));
    expect((await session.exec("pgrep sleep")).exitCode).toBe(1);
  });

  it("sees what was done, and how the server is", async () => {
    await using session = await client.sessions.create();
    const { executionId, auditId } = await session.exec("true");
    expect(await client.executions.get(executionId)).toMatchObject({ id: executionId, state: "done" });
    const { value: record } = await client.audit({ sessionId: session.sessionId, tool: "shell_exec" }).next();
    expect(record).toMatchObject({ id: auditId, result: "success" });
    expect(await client.metrics()).toContain("sandbox_executions_total");
    expect(await client.pool()).toMatchObject({ running: expect.any(Number) });
    expect(await client.approvals.list()).toEqual([]);
    await client.ready();
    expect(await session.renew({ ttlMs: 60_000 })).toMatchObject({ sessionId: session.sessionId });
  });
});

describe("what goes on without a request", () => {
  const program =
    "import time, signal\nsignal.signal(signal.SIGTERM, lambda *_: exit(7))\nprint('on', flush=True)\ntime.sleep(1000)";

  it("is followed, also past a lost connection, and sent signals", async () => {
    await using session = await client.sessions.create();
    let reconnector = 0;
    const flaky = new SkerryClient({
      url: testServer.url,
      apiKey: testServer.admin,
      // The first answer breaks off after its first event.
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        if (!String(input).includes("/logs") || reconnector++ > 0) return response;
        let isCut = false;
        const cutting = new TransformStream<Uint8Array, Uint8Array>({
          transform: (chunk, controller) => {
            if (isCut) controller.error(new Error("lost"));
            else controller.enqueue(chunk);
            isCut = true;
          },
        });
        return new Response(response.body!.pipeThrough(cutting), response);
      },
    });
    const { id } = await session.processes.runCode(program, { language: "python" });
    const process = flaky.sessions.get(session.sessionId).processes.get(id);
    expect(await process.info()).toMatchObject({ id, state: "running" });
    const events: unknown[] = [];
    for await (const event of process.follow()) {
      events.push(event.type === "exit" ? ["ended", event.result.exitCode] : event);
      if (event.type === "stdout") await process.signal("SIGTERM");
    }
    expect(events).toEqual([{ type: "stdout", text: "on\n" }, ["ended", 7]]);
    expect((await process.logs()).items).toEqual([{ stream: "stdout", text: "on\n" }]);
    expect(await process.wait()).toMatchObject({ reason: "exited", exitCode: 7 });
    await expect(process.signal("SIGTERM")).rejects.toMatchObject({ code: "CONFLICT" });
    expect(await session.processes.list()).toMatchObject([{ id }]);
    await process.delete();
    expect(await session.processes.list()).toEqual([]);
  });

  it("is a terminal that is seen again after the connection was left", async () => {
    await using session = await client.sessions.create();
    const terminal = await session.terminals.open({ rows: 24, columns: 80, argv: ["sh"] });
    const first = await terminal.connect();
    const decoder = new TextDecoder();
    let seen = "";
    first.write("echo one-$((1 + 1))\r");
    for await (const bytes of first) {
      seen += decoder.decode(bytes, { stream: true });
      if (seen.includes("one-2")) break;
    }
    first.close();
    const second = await terminal.connect({ cursor: first.cursor });
    second.resize(40, 100);
    second.write("stty size; exit 3\r");
    seen = "";
    for await (const bytes of second) seen += decoder.decode(bytes, { stream: true });
    expect(seen).not.toContain("one-2");
    expect(seen).toContain("40 100");
    expect(second.result).toMatchObject({ exitCode: 3 });
    await expect(session.terminals.get("nothing").connect()).rejects.toMatchObject({ status: 404 });
  });

  it("is a list of approvals that is watched", async () => {
    const controller = new AbortController();
    const events: unknown[] = [];
    for await (const event of client.approvals.watch({ signal: controller.signal })) {
      events.push(event);
      controller.abort();
    }
    expect(events).toEqual([{ type: "pending", approvals: [] }]);
  });
});

import { beforeAll, expect } from "vitest";
import { waitUntil } from "../../../src/core/testing/wait-until.js";
import { requires } from "../../../test/setup/requires.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { type ExecutionEvent, SkerryClient } from "./index.js";

const { describe, it } = requires("bubblewrap", "python3");

let testServer: TestServer;
let client: SkerryClient;
beforeAll(async () => {
  testServer = await TestServer.open({ sandbox: { network: { allowLocalBinding: true } } });
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
      expect(await session.info()).toMatchObject({ name, state: "active" });
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

  it("moves files both ways, as streams and whole", async () => {
    await using session = await client.sessions.create();
    const { files } = session;
    await files.write("a/b c.txt", "text");
    await files.write("bytes", new Uint8Array([0, 255, 10]));
    await files.write("blob", new Blob(["x".repeat(100_000)]));
    await files.write("stream", new Blob(["y".repeat(100_000)]).stream());
    await files.mkdir("d/e");
    await files.move("blob", "d/e/moved");
    expect(await files.read("a/b c.txt")).toBe("text");
    expect([...(await files.readBytes("bytes"))]).toEqual([0, 255, 10]);
    let size = 0;
    for await (const piece of await files.readStream("d/e/moved")) size += piece.length;
    expect(size).toBe(100_000);
    const listed = [];
    for await (const { path, type } of files.list(".", { recursive: true })) listed.push(`${type} ${path}`);
    expect(listed).toEqual([
      "directory a",
      "file a/b c.txt",
      "file bytes",
      "directory d",
      "directory d/e",
      "file d/e/moved",
      "file stream",
    ]);
    await files.remove("d", { recursive: true });
    await expect(files.readBytes("d/e/moved")).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
  });

  it("keeps state in contexts, and goes back in it", async () => {
    await using session = await client.sessions.create();
    const context = await session.contexts.create({ language: "python" });
    await context.run("x = 1");
    const saved = await context.checkpoint();
    const results: unknown[] = [];
    for await (const event of context.run("x += 1; x"))
      if (event.type === "result") results.push(event.result.data["text/plain"]);
    expect(results).toEqual(["2"]);
    const forked = await context.fork();
    await context.rollback(saved);
    expect((await context.run("x")).results?.[0]?.data["text/plain"]).toBe("1");
    expect((await forked.run("x")).results?.[0]?.data["text/plain"]).toBe("2");
    expect((await session.contexts.list()).map(({ id }) => id).sort()).toEqual(
      [context.id, forked.id].sort(),
    );
    expect(await context.interrupt()).toBe(false);
    expect(await context.restart()).toMatchObject({ executionCount: 0 });
    await forked.delete();
    expect(await session.contexts.list()).toHaveLength(1);
  });

  it("takes snapshots, brings them back, and carries them elsewhere", async () => {
    await using session = await client.sessions.create();
    await session.files.write("f", "1");
    const kept = await session.snapshots.create({ name: "first" });
    await session.files.write("f", "2");
    expect(await session.snapshots.restore(kept)).toMatchObject({ written: 1 });
    expect(await session.files.read("f")).toBe("1");
    await using forked = await session.fork();
    expect(await forked.files.read("f")).toBe("1");
    const copy = await forked.snapshots.import(await session.snapshots.export(kept), { name: "copy" });
    expect(await forked.snapshots.list()).toMatchObject([{ id: copy.id, name: "copy", files: 1 }]);
    await session.snapshots.delete(kept);
    expect(await session.snapshots.list()).toEqual([]);
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
    expect(await session.renew({ ttlMs: 60_000 })).toMatchObject({ name: session.sessionId });
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
      events.push(event.type === "exit" ? [event.process.state, event.process.exitCode] : event);
      if (event.type === "stdout") await process.signal("SIGTERM");
    }
    expect(events).toEqual([{ type: "stdout", text: "on\n" }, ["ended", 7]]);
    expect((await process.logs()).items).toEqual([{ stream: "stdout", text: "on\n" }]);
    expect(await process.wait()).toMatchObject({ state: "ended" });
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

  it("is reached on its port, by requests and by a connection", async () => {
    await using session = await client.sessions.create();
    const server = [
      "import http.server as h",
      "class H(h.BaseHTTPRequestHandler):",
      "  def do_GET(self):",
      "    self.send_response(404 if self.path == '/no' else 200); self.end_headers(); self.wfile.write(self.path.encode())",
      "s = h.HTTPServer(('127.0.0.1', 8000), H)",
      "print('ready', flush=True)",
      "s.serve_forever()",
    ].join("\n");
    const process = await session.processes.runCode(server, { language: "python" });
    for await (const event of process.follow()) if (event.type === "stdout") break;
    const answers = await Promise.all(["/a?b=c", "/no"].map((path) => session.ports.fetch(8000, path)));
    expect(await Promise.all(answers.map(async (each) => [each.status, await each.text()]))).toEqual([
      [200, "/a?b=c"],
      [404, "/no"],
    ]);
    await expect(session.ports.fetch(8001, "/")).rejects.toMatchObject({ code: "PORT_FAILED" });
    const tunnel = await session.ports.connect(8000);
    const writer = tunnel.writable.getWriter();
    await writer.write(new TextEncoder().encode("GET /tunnel HTTP/1.0\r\n\r\n"));
    expect(await new Response(tunnel.readable).text()).toMatch(/^HTTP\/1.0 200 OK\r\n.*\r\n\/tunnel$/s);
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

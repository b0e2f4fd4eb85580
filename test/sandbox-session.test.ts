import { randomUUID } from "node:crypto";
import { type SandboxSession, type SessionEvent, SkerryClient } from "@skerry/client";
import { afterAll, beforeAll, expect } from "vitest";
import { parseConfig, parsePolicy, Sandbox, SandboxManager, SessionSandbox } from "../src/index.js";
import { temporaryDirectory } from "./setup/clean-up.js";
import { requires } from "./setup/requires.js";
import { TestServer } from "./setup/test-server.js";

const { describe, it } = requires("bubblewrap", "python3");
const PORTS = { network: { allowLocalBinding: true } };

/** One way to a session: opens a new one, and one that is there by its name. */
interface SessionOpener {
  readonly open: () => Promise<SandboxSession>;
  readonly again: (sessionId: string) => Promise<SandboxSession>;
  /** Two handles of one new session. */
  readonly pair: () => Promise<[SandboxSession, SandboxSession]>;
  /** A further handle of a session. */
  readonly another: (session: SandboxSession) => Promise<SandboxSession>;
  /** A new one of that name. */
  readonly named: (sessionId: string) => Promise<SandboxSession>;
}

let server: TestServer;
let openers: Record<"library" | "client", SessionOpener>;
let stateDir: string;
beforeAll(async () => {
  stateDir = temporaryDirectory();
  // The sandboxes' own users must be able to pass through.
  const options = { stateDir, config: await parseConfig({ sandbox: PORTS }) };
  server = await TestServer.open({ sandbox: PORTS });
  const client = new SkerryClient({ url: server.url, apiKey: server.admin });
  openers = {
    library: {
      open: () => Sandbox.create(options),
      again: (sessionId) => Sandbox.connect(sessionId, options),
      pair: async () => {
        const { sessionId } = await closedSession();
        return Promise.all([Sandbox.connect(sessionId, options), Sandbox.connect(sessionId, options)]);
      },
      another: ({ sessionId }) => Sandbox.connect(sessionId, options),
      named: (sessionId) => Sandbox.create({ ...options, sessionId }),
    },
    client: {
      open: () => client.sessions.create(),
      again: async (sessionId) => client.sessions.get(sessionId),
      pair: async () => {
        const first = await client.sessions.create();
        return [first, client.sessions.get(first.sessionId)];
      },
      another: async ({ sessionId }) => client.sessions.get(sessionId),
      named: (sessionId) => client.sessions.create({ sessionId }),
    },
  };
});
afterAll(async () => {
  await server?.close();
});

/** One that is there, and that no handle has open. */
async function closedSession(): Promise<SandboxSession> {
  const made = await Sandbox.create({ stateDir });
  await made.close();
  return made;
}

describe.each(["library", "client"] as const)("a session of the %s", (name) => {
  const inSession = async (use: (session: SandboxSession) => Promise<void>) => {
    const session = await openers[name].open();
    try {
      await use(session);
    } finally {
      await session.delete();
    }
  };

  it("runs programs and commands, awaited", () =>
    inSession(async (session) => {
      expect(await session.runCode("print(6 * 7)", { language: "python" })).toMatchObject({
        success: true,
        reason: "exited",
        exitCode: 0,
        stdout: "42\n",
        sessionId: expect.any(String),
      });
      expect(await session.exec("echo $((1 + 1)) >&2; exit 3")).toMatchObject({
        success: false,
        exitCode: 3,
        stderr: "2\n",
      });
      expect(await session.exec(["echo", "$HOME", "a b"])).toMatchObject({ stdout: "$HOME a b\n" });
    }));

  it("runs them iterated, now or later, and ends what runs when the loop is left", () =>
    inSession(async (session) => {
      const texts = async (events: AsyncIterable<SessionEvent>) => {
        const told: unknown[] = [];
        for await (const event of events)
          if (event.type === "stdout") told.push(event.text);
          else if (event.type === "exit") told.push(event.result.exitCode);
        return told;
      };
      expect(await texts(session.exec("printf é; exit 2"))).toEqual(["é", 2]);
      const iterated = session.exec("echo a");
      expect(await texts(iterated)).toEqual(["a\n", 0]);
      expect(await iterated).toMatchObject({ exitCode: 0, stdout: "" });
      expect((await iterated.bytes()).stdout).toHaveLength(0);
      const later = session.exec("printf later");
      await later;
      expect(await texts(later)).toEqual(["later", 0]);
      for await (const event of session.exec("echo on; exec sleep 4242")) if (event.type === "stdout") break;
      await expect.poll(async () => (await session.exec("pgrep -f 'sleep 424[2]'")).exitCode).toBe(1);
    }));

  it("gives output as text, and its bytes on demand, awaited and iterated", () =>
    inSession(async (session) => {
      const command = "printf '\\303\\251\\377'; printf '\\357\\273\\277e' >&2";
      const [stdout, stderr] = [
        [0xc3, 0xa9, 0xff],
        [0xef, 0xbb, 0xbf, 0x65],
      ];
      const awaited = session.exec(command);
      expect(await awaited).toMatchObject({ stdout: "é\ufffd", stderr: "\ufeffe" });
      const bytes = await awaited.bytes();
      expect([[...bytes.stdout], [...bytes.stderr]]).toEqual([stdout, stderr]);
      for (const events of [awaited, session.exec(command)]) {
        const seen = { stdout: [] as number[], stderr: [] as number[] };
        for await (const event of events)
          if (event.type === "stdout" || event.type === "stderr") seen[event.type].push(...event.data);
        expect(seen).toEqual({ stdout, stderr });
      }
    }));

  it("has files, as text, bytes and streams", () =>
    inSession(async ({ files }) => {
      await files.write("a/a text", "é");
      await files.write("bytes", new Uint8Array([0, 255]));
      await files.write("blob", new Blob(["blob"]));
      await files.write("stream", new Blob(["y".repeat(100_000)]).stream());
      await files.mkdir("d/e");
      await files.move("blob", "d/e/moved");
      expect(await files.read("a/a text")).toBe("é");
      expect([...(await files.readBytes("bytes"))]).toEqual([0, 255]);
      expect(await new Response(await files.readStream("stream")).text()).toBe("y".repeat(100_000));
      const listed: string[] = [];
      for await (const { path, type } of files.list(".", { recursive: true })) listed.push(`${type} ${path}`);
      expect(listed.sort()).toEqual([
        "directory a",
        "directory d",
        "directory d/e",
        "file a/a text",
        "file bytes",
        "file d/e/moved",
        "file stream",
      ]);
      await files.remove("d", { recursive: true });
      await expect(files.read("d/e/moved")).rejects.toMatchObject({
        code: "FILE_NOT_FOUND",
        retryable: false,
      });
    }));

  it("keeps state in contexts, and goes back in it", () =>
    inSession(async ({ contexts }) => {
      const context = await contexts.create({ language: "python" });
      await context.run("x = 1");
      const saved = await context.checkpoint();
      const text = async (code: string, of = context) =>
        (await of.run(code)).results?.[0]?.data["text/plain"];
      const later = context.run("x");
      await later;
      const shown: unknown[] = [];
      for (const events of [context.run("x += 1; x"), later])
        for await (const event of events)
          if (event.type === "result") shown.push(event.result.data["text/plain"]);
      expect(shown).toEqual(["2", "1"]);
      const forked = await context.fork();
      await context.rollback(saved);
      expect([await text("x"), await text("x", forked)]).toEqual(["1", "2"]);
      const read = await context.run("input()", { stdin: "from outside" });
      expect(read.results?.[0]?.data["text/plain"]).toBe("'from outside'");
      expect((await contexts.list()).map(({ id }) => id).sort()).toEqual([context.id, forked.id].sort());
      expect(await context.interrupt()).toBe(false);
      await expect(contexts.create({ id: context.id })).rejects.toMatchObject({ code: "CONFLICT" });
      await forked.delete();
      expect(await contexts.list()).toHaveLength(1);
      expect(await text("x", contexts.get(context.id))).toBe("1");
      await context.restart();
      expect(await context.run("x")).toMatchObject({ success: false, error: expect.stringContaining("x") });
    }));

  it("takes snapshots, brings them back and carries them", () =>
    inSession(async ({ files, snapshots }) => {
      await files.write("f", "1");
      const kept = await snapshots.create({ name: "first" });
      await files.write("f", "2");
      expect(await snapshots.restore(kept)).toMatchObject({ written: 1 });
      expect(await files.read("f")).toBe("1");
      const copy = await snapshots.import(await snapshots.export(kept), { name: "copy" });
      expect((await snapshots.list()).map((each) => each.name).sort()).toEqual(["copy", "first"]);
      await snapshots.delete(kept);
      expect(await snapshots.list()).toMatchObject([{ id: copy.id, files: 1 }]);
      await expect(snapshots.delete(kept)).rejects.toMatchObject({ code: "SNAPSHOT_NOT_FOUND" });
    }));

  it("forks into a session of its own, with the files of now or of a snapshot", () =>
    inSession(async (session) => {
      await session.files.write("f", "1");
      const { id: snapshotId } = await session.snapshots.create();
      await session.files.write("f", "2");
      const archive = await session.snapshots.export(snapshotId);
      const [now, then] = [
        await session.fork(),
        await session.fork({ sessionId: `then-${name}`, snapshotId }),
      ];
      expect([await now.files.read("f"), await then.files.read("f"), then.sessionId]).toEqual([
        "2",
        "1",
        `then-${name}`,
      ]);
      const sessionId = then.sessionId;
      await expect(session.fork({ sessionId })).rejects.toMatchObject({ code: "CONFLICT" });
      const copy = await now.snapshots.import(archive, { name: "copy" });
      expect(await now.snapshots.list()).toMatchObject([{ id: copy.id, name: "copy", files: 1 }]);
      await now.delete();
      await then.files.write("f", "3");
      await then.close();
      const again = await openers[name].again(sessionId);
      expect([await again.files.read("f"), await session.files.read("f")]).toEqual(["3", "2"]);
      await again.delete();
    }));

  it("leaves processes running, follows them and sends signals", () =>
    inSession(async ({ processes }) => {
      const code =
        "import signal, time\nsignal.signal(signal.SIGTERM, lambda *_: exit(7))\nprint('on', flush=True)\ntime.sleep(1000)";
      const process = await processes.runCode(code, { language: "python" });
      const told: unknown[] = [];
      for await (const event of process.follow()) {
        told.push(event.type === "exit" ? event.result.exitCode : event);
        if (event.type === "stdout") await process.signal("SIGTERM");
      }
      expect(told).toEqual([{ type: "stdout", text: "on\n" }, 7]);
      expect(await process.wait()).toMatchObject({ exitCode: 7 });
      await expect(process.signal("SIGTERM")).rejects.toMatchObject({ code: "CONFLICT" });
      expect(await processes.list()).toMatchObject([{ id: process.id, state: "ended" }]);
      await process.delete();
      expect(await processes.list()).toEqual([]);
    }));

  it("has terminals that outlive their connections", () =>
    inSession(async ({ terminals }) => {
      const terminal = await terminals.open({ rows: 24, columns: 80, argv: ["sh"] });
      const first = await terminal.connect();
      first.write("echo one-$((1 + 1))\r");
      const decoder = new TextDecoder();
      let seen = "";
      for await (const bytes of first) {
        seen += decoder.decode(bytes, { stream: true });
        if (seen.includes("one-2")) break;
      }
      first.close();
      const second = await terminal.connect();
      second.resize(40, 100);
      second.write("stty size; exit 3\r");
      seen = "";
      for await (const bytes of second) seen += decoder.decode(bytes, { stream: true });
      expect(seen).toContain("40 100");
      expect(second.result).toMatchObject({ exitCode: 3 });
      expect(await terminals.list()).toMatchObject([{ id: terminal.id, state: "ended" }]);
      await terminal.delete();
    }));

  it("reaches what listens on a port inside", () =>
    inSession(async ({ processes, ports }) => {
      const code = [
        "import http.server as h",
        "class H(h.BaseHTTPRequestHandler):",
        "  def do_GET(self):",
        "    self.send_response(404 if self.path == '/no' else 200); self.end_headers(); self.wfile.write(self.path.encode())",
        "  def do_POST(self):",
        "    body = self.rfile.read(int(self.headers['content-length']))",
        "    self.send_response(204 if body == b'' else 201); self.end_headers()",
        "    self.wfile.write(self.headers.get('idempotency-key', '').encode() + body)",
        "s = h.HTTPServer(('127.0.0.1', 8000), H)",
        "print('ready', flush=True)",
        "s.serve_forever()",
      ].join("\n");
      const process = await processes.runCode(code, { language: "python" });
      for await (const event of process.follow()) if (event.type === "stdout") break;
      const answers = await Promise.all(["/a?b=c", "/no"].map((path) => ports.fetch(8000, path)));
      expect(await Promise.all(answers.map(async (each) => [each.status, await each.text()]))).toEqual([
        [200, "/a?b=c"],
        [404, "/no"],
      ]);
      const posted = await ports.fetch(8000, "/", {
        method: "POST",
        headers: { "idempotency-key": "a" },
        body: "é",
      });
      expect([posted.status, await posted.text()]).toEqual([201, "aé"]);
      const bytes = new Uint8Array([0, 255]);
      const echoed = await ports.fetch(8000, "/", { method: "POST", body: bytes });
      expect(new Uint8Array(await echoed.arrayBuffer())).toEqual(bytes);
      expect((await ports.fetch(8000, "/", { method: "POST", body: "" })).status).toBe(204);
      await expect(ports.fetch(8001, "/")).rejects.toMatchObject({ code: "PORT_FAILED" });
      const { readable, writable } = await ports.connect(8000);
      await writable.getWriter().write(new TextEncoder().encode("GET /tunnel HTTP/1.0\r\n\r\n"));
      expect(await new Response(readable).text()).toMatch(/^HTTP\/1.0 200 OK\r\n.*\r\n\/tunnel$/s);
    }));

  it("never holds a process back that is not followed, and keeps what it printed", () =>
    inSession(async ({ processes, files }) => {
      const quiet = await processes.exec(
        "head -c 3000000 /dev/zero | tr '\\0' x; echo; echo end; touch done",
      );
      expect(await quiet.wait()).toMatchObject({ exitCode: 0 });
      expect(await files.read("done")).toBe("");
      const told = { dropped: 0, text: "" };
      for await (const event of quiet.follow())
        if (event.type === "dropped") told.dropped += event.bytes;
        else if (event.type !== "exit") told.text += event.text;
      expect(told.dropped).toBeGreaterThan(0);
      expect(told.dropped + told.text.length).toBe(3_000_005);
      expect(told.text.endsWith("x\nend\n")).toBe(true);
      const short = await processes.exec("echo out; echo err >&2");
      await short.wait();
      for (const _ of [1, 2]) {
        const seen: string[] = [];
        for await (const event of short.follow()) seen.push("text" in event ? event.text : event.type);
        expect(seen.sort()).toEqual(["err\n", "exit", "out\n"]);
      }
    }));

  it("lists processes and terminals of other handles of the session", async () => {
    const [session, other] = await openers[name].pair();
    const process = await session.processes.exec("sleep 1000");
    const terminal = await session.terminals.open({ rows: 24, columns: 80 });
    expect(await other.processes.list()).toMatchObject([{ id: process.id, state: "running" }]);
    expect(await other.terminals.list()).toMatchObject([{ id: terminal.id, state: "running" }]);
    await process.delete();
    await terminal.delete();
    expect([await other.processes.list(), await other.terminals.list()]).toEqual([[], []]);
    await session.delete();
  });

  it("shows a terminal's output to each connection, from what is kept", () =>
    inSession(async ({ terminals }) => {
      const terminal = await terminals.open({ rows: 24, columns: 80, argv: ["printf", "seen"] });
      for (const _ of [1, 2]) {
        const connection = await terminal.connect();
        let seen = "";
        for await (const bytes of connection) seen += new TextDecoder().decode(bytes);
        expect([seen, connection.result?.exitCode]).toEqual(["seen", 0]);
      }
    }));

  it("has no context that was not made", () =>
    inSession(async ({ contexts }) => {
      const missing = { code: "CONTEXT_NOT_FOUND" };
      await expect(contexts.get("no").run("1")).rejects.toMatchObject(missing);
      await contexts.create({ id: "yes", language: "bash" });
      await expect(contexts.get("no").run("1")).rejects.toMatchObject(missing);
      await expect(contexts.get("no").restart()).rejects.toMatchObject(missing);
      await expect(contexts.get("no").delete()).rejects.toMatchObject(missing);
      expect(await contexts.list()).toMatchObject([{ id: "yes", language: "bash" }]);
      expect(await contexts.get("yes").run("echo $((1 + 1))")).toMatchObject({ stdout: "2\n" });
      await expect(contexts.create({ id: "a b" })).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }));

  it.each(["close", "delete"] as const)(
    "refuses every use after %s(), which can be repeated",
    async (end) => {
      const session = await openers[name].open();
      await session[end]();
      await session[end]();
      const uses: (() => PromiseLike<unknown>)[] = [
        () => session.runCode("1", { language: "python" }),
        () => session.exec("true"),
        () => session.exec("true")[Symbol.asyncIterator]().next(),
        () => session.files.read("f"),
        () => session.files.list()[Symbol.asyncIterator]().next(),
        () => session.files.write("f", ""),
        () => session.contexts.create(),
        () => session.contexts.list(),
        () => session.contexts.get("c").run("1"),
        () => session.snapshots.create(),
        () => session.processes.exec("true"),
        () => session.processes.list(),
        () => session.terminals.open({ rows: 24, columns: 80 }),
        () => session.terminals.list(),
        () => session.ports.fetch(8000, "/"),
        () => session.ports.connect(8000),
        () => session.fork(),
      ];
      for (const use of uses)
        await expect(use(), String(use)).rejects.toMatchObject({
          code: "SANDBOX_NOT_RUNNING",
          message: "This session has been closed",
        });
      await session.delete();
    },
  );

  it("says CANCELLED for a signal that aborts, before and while it runs, and for a loop that was left", () =>
    inSession(async (session) => {
      const cancelled = { code: "CANCELLED" };
      const signal = AbortSignal.abort();
      await expect(session.exec("true", { signal })).rejects.toMatchObject(cancelled);
      await expect(session.runCode("1", { language: "python", signal })).rejects.toMatchObject(cancelled);
      await expect(session.exec("true", { signal })[Symbol.asyncIterator]().next()).rejects.toMatchObject(
        cancelled,
      );
      await expect(session.processes.exec("true", { signal })).rejects.toMatchObject(cancelled);
      await expect(session.ports.fetch(8000, "/", { signal })).rejects.toMatchObject(cancelled);
      const context = await session.contexts.create();
      await expect(context.run("1", { signal })).rejects.toMatchObject(cancelled);
      const sleeping = session.exec("sleep 1000", { signal: AbortSignal.timeout(300) });
      await expect(sleeping).rejects.toMatchObject(cancelled);
      const left = session.exec("echo on; exec sleep 1000");
      for await (const event of left) if (event.type === "stdout") break;
      await expect(left).rejects.toMatchObject(cancelled);
    }));

  it("refuses options that there are not", () =>
    inSession(async (session) => {
      const { contexts, files, ports, processes, snapshots, terminals } = session;
      const wrong = { timeoutMS: 1 } as object;
      const context = await contexts.create();
      const { id: snapshotId } = await snapshots.create();
      const archive = new Uint8Array(await new Response(await snapshots.export(snapshotId)).arrayBuffer());
      const uses: (() => PromiseLike<unknown>)[] = [
        () => session.runCode("1", { language: "python", ...wrong }),
        () => session.exec("true", wrong),
        () => session.fork(wrong),
        () => processes.exec("true", wrong),
        () => processes.runCode("1", { language: "python", ...wrong }),
        () => terminals.open({ rows: 24, columns: 80, ...wrong }),
        () => contexts.create(wrong),
        () => context.run("1", wrong),
        () => context.checkpoint(wrong),
        () => snapshots.create(wrong),
        () => snapshots.import(archive, wrong),
        () => files.list(".", wrong)[Symbol.asyncIterator]().next(),
        () => files.remove("f", wrong),
        () => ports.fetch(8000, "/", wrong),
      ];
      for (const use of uses)
        await expect(use(), String(use)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    }));

  it("gives results of one JSON, with its version", () =>
    inSession(async (session) => {
      const result = await session.exec("true");
      expect(result.version).toBe(1);
      // Of a server, and of a manager with an audit log.
      const {
        executionId: _,
        auditId: __,
        filesRead: ___,
        ...json
      } = JSON.parse(JSON.stringify(result)) as Record<string, unknown>;
      expect(Object.keys(json).sort()).toEqual([
        "cpuTimeMs",
        "executionTimeMs",
        "exitCode",
        "fileChanges",
        "filesDeleted",
        "filesWritten",
        "memoryUsedMb",
        "reason",
        "sandboxId",
        "sandboxType",
        "sessionId",
        "signal",
        "stderr",
        "stdout",
        "success",
        "truncated",
        "version",
        "warm",
      ]);
    }));

  it("streams to a loop that begins while it runs: what there was, and then what comes", () =>
    inSession(async (session) => {
      const late = session.exec("echo first; until [ -e go ]; do sleep 0.1; done; echo last; echo err >&2");
      await session.files.write("began", "");
      const told: string[] = [];
      for await (const event of late) {
        if (event.type === "execution") continue;
        told.push("text" in event ? event.text : event.type);
        if ("text" in event && event.text === "first\n") await session.files.write("go", "");
      }
      expect(told.slice(0, 2)).toEqual(["started", "first\n"]);
      expect(told.slice(2).sort()).toEqual(["err\n", "exit", "last\n"]);
      expect(await late).toMatchObject({ stdout: "", exitCode: 0 });
      const again: string[] = [];
      for await (const { type } of late) again.push(type);
      expect(again).toEqual(["exit"]);

      const long = session.exec("yes | head -c 40000000");
      await session.files.write("began", "");
      let bytes = 0;
      for await (const event of long) if (event.type === "stdout") bytes += event.data.length;
      expect([bytes, (await long).reason]).toEqual([40_000_000, "exited"]);

      const left = session.exec("echo on; exec sleep 4343");
      await session.files.write("began", "");
      for await (const event of left) if (event.type === "stdout") break;
      await expect(left).rejects.toMatchObject({ code: "CANCELLED" });
      await expect.poll(async () => (await session.exec("pgrep -f 'sleep 434[3]'")).exitCode).toBe(1);
    }));

  it("ends at the limit what prints more than a result takes, and keeps what came before", () =>
    inSession(async (session) => {
      const awaited = await session.exec("yes | head -c 40000000");
      expect([awaited.reason, awaited.truncated, awaited.stdout.length]).toEqual([
        "output-limit",
        true,
        10 * 1024 * 1024,
      ]);
      const begun = session.exec("echo out");
      await session.files.write("began", "");
      expect(await begun).toMatchObject({ stdout: "out\n", exitCode: 0 });
      expect(String((await begun.bytes()).stdout.length)).toBe("4");
      const told: string[] = [];
      for await (const event of begun)
        if (event.type !== "execution" && event.type !== "started")
          told.push("text" in event ? event.text : event.type);
      expect(told).toEqual(["out\n", "exit"]);
    }));

  it("says the same of files that are not there, not files or outside", () =>
    inSession(async ({ files, snapshots }) => {
      await files.write("empty", "");
      expect([await files.read("empty"), (await files.readBytes("empty")).length]).toEqual(["", 0]);
      expect(await new Response(await files.readStream("empty")).text()).toBe("");
      await files.mkdir("d/e");
      await files.mkdir("d/e");
      const codes: unknown[] = [];
      const uses: (() => Promise<unknown>)[] = [
        () => files.read("no"),
        () => files.readStream("no"),
        () => files.read("d"),
        () => files.readBytes("../x"),
        () => files.read("/etc/passwd"),
        () => files.read(""),
        () => files.write("d", "x"),
        () => files.write("../x", "x"),
        () => files.write("empty/x", "x"),
        () => files.remove("no"),
        () => files.remove("d"),
        () => files.move("no", "x"),
        () => files.move("empty", "d"),
        () => files.mkdir("empty"),
        () => files.mkdir("../x"),
        () => files.list("no")[Symbol.asyncIterator]().next(),
        () => files.list("empty")[Symbol.asyncIterator]().next(),
        () => snapshots.restore("no"),
        () => snapshots.export("no"),
        () => snapshots.delete("no"),
        () => snapshots.create({ name: "x".repeat(1000) }),
      ];
      for (const use of uses)
        codes.push(
          await use().then(
            () => "fine",
            (error: { readonly code: string }) => error.code,
          ),
        );
      expect(codes).toEqual([
        "FILE_NOT_FOUND",
        "FILE_NOT_FOUND",
        "FILE_TYPE",
        "PATH_TRAVERSAL",
        "PATH_TRAVERSAL",
        "INVALID_ARGUMENT",
        "FILE_TYPE",
        "PATH_TRAVERSAL",
        "FILE_TYPE",
        "FILE_NOT_FOUND",
        "FILE_EXISTS",
        "FILE_NOT_FOUND",
        "FILE_EXISTS",
        "FILE_TYPE",
        "PATH_TRAVERSAL",
        "FILE_NOT_FOUND",
        "FILE_TYPE",
        "SNAPSHOT_NOT_FOUND",
        "SNAPSHOT_NOT_FOUND",
        "SNAPSHOT_NOT_FOUND",
        "INVALID_ARGUMENT",
      ]);
    }));

  const codeOf = (work: () => unknown) =>
    (async () => work())().then(
      () => "fine",
      (error: { readonly code?: unknown; readonly name?: string }) => String(error.code ?? error.name),
    );

  it("passes a request to a port inside and nowhere else, redirects too, and refuses what is none", () =>
    inSession(async ({ processes, ports }) => {
      const code = [
        "import http.server as h",
        "class H(h.BaseHTTPRequestHandler):",
        "  def do_GET(self):",
        "    self.send_response(302 if self.path == '/moved' else 200); self.send_header('location', '/x')",
        "    self.end_headers(); self.wfile.write(self.path.encode())",
        "  do_PATCH = do_GET",
        "s = h.HTTPServer(('127.0.0.1', 8000), H)",
        "print('ready', flush=True)",
        "s.serve_forever()",
      ].join("\n");
      const process = await processes.runCode(code, { language: "python" });
      for await (const event of process.follow()) if (event.type === "stdout") break;
      const moved = await ports.fetch(8000, "/moved");
      expect([moved.status, moved.headers.get("location"), await moved.text()]).toEqual([
        302,
        "/x",
        "/moved",
      ]);
      const up = "/../../../../..";
      const paths = [
        `${up}/v1/status`,
        "/%2e%2e/%2e./../../status",
        "/a\\..\\..\\..\\..\\b",
        "/a/../c?d=/../e",
      ];
      const seen = paths.map(async (path) => (await ports.fetch(8000, path)).text());
      expect(await Promise.all(seen)).toEqual(["/v1/status", "/status", "/b", "/c?d=/../e"]);
      for (const options of [{ headers: { Authorization: "Basic eA==" } }, { method: "patch" }])
        expect((await ports.fetch(8000, "/", options)).status).toBe(200);
      const refused: object[] = [
        { body: "x" },
        { method: "B AD" },
        { method: "CONNECT" },
        { method: "POST", body: 5 },
        { method: "POST", body: {} },
        { headers: "x" },
        { headers: { "a b": "c" } },
      ];
      for (const options of refused)
        expect(await codeOf(() => ports.fetch(8000, "/", options)), JSON.stringify(options)).toBe(
          "INVALID_ARGUMENT",
        );
      await expect(ports.fetch(8001, "/")).rejects.toMatchObject({
        code: "PORT_FAILED",
        hint: "Is a program inside listening on this port?",
      });
    }));

  it("gives the answer of a port as it comes, and ends with it", () =>
    inSession(async ({ processes, ports }) => {
      const code = [
        "import socket",
        "s = socket.create_server(('127.0.0.1', 8000))",
        "print('ready', flush=True)",
        "while True:",
        "  c, _ = s.accept()",
        "  c.recv(65536)",
        "  c.sendall(b'HTTP/1.1 200 OK\\r\\nconnection: close\\r\\n\\r\\n' + b'x' * 4096)",
        "  print(c.recv(1) == b'', flush=True)",
      ].join("\n");
      const process = await processes.runCode(code, { language: "python" });
      const printed = process.follow()[Symbol.asyncIterator]();
      expect((await printed.next()).value).toEqual({ type: "stdout", text: "ready\n" });
      const { body } = await ports.fetch(8000, "/");
      const reader = body!.getReader();
      expect((await reader.read()).value?.[0]).toBe("x".charCodeAt(0));
      await reader.cancel();
      expect((await printed.next()).value).toEqual({ type: "stdout", text: "True\n" });
      await printed.return?.();
    }));

  it("says CANCELLED when a request to a port is aborted in the middle of its answer", () =>
    inSession(async ({ processes, ports }) => {
      const code = [
        "import socket, time",
        "s = socket.create_server(('127.0.0.1', 8000))",
        "print('ready', flush=True)",
        "c, _ = s.accept()",
        "c.recv(65536)",
        "c.sendall(b'HTTP/1.1 200 OK\\r\\ncontent-length: 9\\r\\n\\r\\nhalf')",
        "time.sleep(1000)",
      ].join("\n");
      const process = await processes.runCode(code, { language: "python" });
      for await (const event of process.follow()) if (event.type === "stdout") break;
      const leaving = new AbortController();
      const answer = await ports.fetch(8000, "/", { signal: leaving.signal });
      leaving.abort();
      await expect(answer.text()).rejects.toMatchObject({ code: "CANCELLED" });
    }));

  it("says SANDBOX_NOT_RUNNING in the middle of a stream when the session is closed", async () => {
    const session = await openers[name].open();
    await session.exec("head -c 64000000 /dev/zero > big");
    const reader = (await session.files.readStream("big")).getReader();
    await reader.read();
    await session.close();
    const rest = async () => {
      while (!(await reader.read()).done);
    };
    expect(await codeOf(rest)).toBe("SANDBOX_NOT_RUNNING");
    await session.delete();
  });

  it("keeps the last 32 processes that have ended", () =>
    inSession(async ({ processes }) => {
      const first = await processes.exec("true");
      await first.wait();
      for (let count = 0; count < 33; count++) await (await processes.exec("true")).wait();
      expect((await processes.list()).length).toBeLessThanOrEqual(33);
      expect(await codeOf(() => first.wait())).toBe("NOT_FOUND");
    }));

  it("names the option that was meant", () =>
    inSession(async (session) => {
      const options = { timeout: 4 } as object;
      for (const work of [() => session.exec("true", options), () => session.processes.exec("true", options)])
        await expect((async () => work())()).rejects.toMatchObject({
          code: "INVALID_ARGUMENT",
          hint: expect.stringContaining('Did you mean "timeoutMs"? Known: '),
        });
    }));

  it("says INVALID_ARGUMENT for what makes no sense, and keeps the file", () =>
    inSession(async (session) => {
      const { contexts, files, ports, processes, snapshots, terminals } = session as never as Record<
        string,
        Record<string, (...given: unknown[]) => unknown>
      >;
      const { exec, runCode } = {
        exec: session.exec.bind(session) as (...given: unknown[]) => unknown,
        runCode: session.runCode.bind(session) as (...given: unknown[]) => unknown,
      };
      await session.files.write("q", "kept");
      const context = (await session.contexts.create()) as never as Record<
        string,
        (given?: unknown) => unknown
      >;
      const uses: (() => unknown)[] = [undefined, null, 5, {}, []].flatMap((wrong) => [
        () => exec(wrong),
        () => runCode(wrong, { language: "python" }),
        () => runCode("1", wrong),
        () => processes!["exec"]!(wrong),
        () => processes!["runCode"]!("1", wrong),
        () => terminals!["open"]!(wrong),
        () => files!["write"]!("q", wrong),
        () => files!["read"]!(wrong),
        () => context["run"]!(wrong),
        () => context["rollback"]!(wrong),
        () => snapshots!["restore"]!(wrong),
        () => ports!["fetch"]!(8000, wrong),
        () => ports!["fetch"]!(String(wrong), "/"),
        () => ports!["connect"]!(String(wrong)),
      ]);
      uses.push(
        ...[undefined, null, ""].flatMap((wrong) => [
          () => session.contexts.get(wrong as never).run("1"),
          () => session.contexts.get(wrong as never).interrupt(),
          () => session.processes.get(wrong as never).info(),
          () => session.terminals.get(wrong as never).connect(),
        ]),
      );
      uses.push(
        () => exec(["echo", "x"], { args: ["a"] }),
        () => exec("true", null),
        () => exec("true", { signal: 5 }),
        () => exec("true", { stdin: null }),
        () => processes!["exec"]!("true", { stdin: null }),
        () => ports!["fetch"]!("8000", "/"),
        () => contexts!["create"]!(5),
        () => files!["remove"]!("q", null),
      );
      for (const use of uses) expect(await codeOf(use), String(use)).toBe("INVALID_ARGUMENT");
      expect(await session.files.read("q")).toBe("kept");
    }));

  it("gives interrupted code a result, and counts from the first piece", () =>
    inSession(async ({ contexts }) => {
      const context = await contexts.create({ language: "python" });
      const first = await context.run("1 / 0");
      expect(first).toMatchObject({
        executionCount: 1,
        exception: { traceback: expect.stringContaining("<cell 1>") },
      });
      const running = context.run("print('on', flush=True)\nimport time; time.sleep(1000)");
      for await (const event of running)
        if (event.type === "stdout") expect(await context.interrupt()).toBe(true);
        else if (event.type === "exit") expect(event.result.reason).toBe("cancelled");
      expect(await running).toMatchObject({ success: false, reason: "cancelled" });
      expect(await context.restart()).toBeUndefined();
    }));

  it("kills a process by its signal, gives its whole result, and knows it no more when it is deleted", () =>
    inSession(async ({ processes, terminals }) => {
      const leaving = new AbortController();
      const process = await processes.exec("exec sleep 1000", { signal: leaving.signal });
      expect(await processes.get(process.id).info()).toMatchObject({
        state: "running",
        command: "exec sleep 1000",
      });
      leaving.abort();
      expect(await process.wait()).toMatchObject({
        version: 1,
        success: false,
        signal: "SIGKILL",
        stdout: "",
      });
      expect(await processes.list()).toMatchObject([{ id: process.id, state: "ended", signal: "SIGKILL" }]);
      await process.delete();
      const terminal = await terminals.open({ rows: 24, columns: 80 });
      await terminal.delete();
      const uses = [
        () => process.delete(),
        () => process.wait(),
        () => process.signal("SIGTERM"),
        () => process.follow()[Symbol.asyncIterator]().next(),
        () => processes.get("no").wait(),
        () => terminal.delete(),
        () => terminal.connect(),
      ];
      for (const use of uses) expect(await codeOf(use), String(use)).toBe("NOT_FOUND");
    }));

  it.each(["close", "delete"] as const)("ends with %s() what the handle waits for", async (end) => {
    const session = await openers[name].open();
    const process = await session.processes.exec("echo on; exec sleep 1000");
    const terminal = await session.terminals.open({ rows: 24, columns: 80 });
    for await (const event of process.follow()) if (event.type === "stdout") break;
    const waiting = [
      codeOf(() => session.exec("sleep 1000")),
      codeOf(() => process.wait()),
      codeOf(async () => {
        for await (const _ of process.follow());
      }),
      codeOf(async () => {
        for await (const _ of await terminal.connect());
      }),
    ];
    await session.exec("true");
    await session[end]();
    expect(await Promise.all(waiting)).toEqual(new Array(4).fill("SANDBOX_NOT_RUNNING"));
    for (const use of [() => process.wait(), () => process.info(), () => terminal.connect()])
      await expect(use()).rejects.toMatchObject({ code: "SANDBOX_NOT_RUNNING", retryable: false });
    await session.delete();
  });

  it("leaves other handles what runs when one is closed, and their files nobody when one deletes", async () => {
    const [one, other] = await openers[name].pair();
    const process = await one.processes.exec("sleep 1000");
    const context = await one.contexts.create();
    await context.run("x = 1");
    await one.close();
    expect(await other.processes.list()).toMatchObject([{ id: process.id, state: "running" }]);
    expect(await other.contexts.get(context.id).run("x")).toMatchObject({ success: true });
    const third = await openers[name].another(other);
    await third.delete();
    await expect(other.files.read("f")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    await other.close();
  });

  it("makes no session of a name that is taken", () =>
    inSession(async (session) => {
      await expect(openers[name].named(session.sessionId)).rejects.toMatchObject({ code: "CONFLICT" });
    }));

  it("takes bytes as input, any time limit of a timer, and the paths that programs see", () =>
    inSession(async (session) => {
      const stdin = new Uint8Array([0xc3, 0xff]);
      const { stdout } = await session
        .exec("cat", { stdin, timeoutMs: 2 ** 31 - 1 })
        .finally(() => undefined)
        .then(() => session.exec("od -An -tx1", { stdin }));
      expect(stdout.trim()).toBe("c3 ff");
      await session.files.write("/workspace/q", "seen");
      expect(await session.files.read("q")).toBe("seen");
      const paths: string[] = [];
      for await (const { path } of session.files.list("")) paths.push(path);
      expect(paths).toEqual(["q"]);
    }));

  it("says why a port is not reached and a stream not written", () =>
    inSession(async ({ files, ports }) => {
      await expect(ports.connect(8123)).rejects.toMatchObject({ code: "PORT_FAILED" });
      const broken = new ReadableStream<Uint8Array>({
        pull(controller) {
          controller.error(new Error("broken"));
        },
      });
      await expect(files.write("f", broken)).rejects.toMatchObject({ code: "FILE_FAILED" });
      await expect(files.read("f")).rejects.toMatchObject({ code: "FILE_NOT_FOUND" });
    }));

  it("keeps its files past its close and its scope, until it is deleted", async () => {
    let sessionId: string;
    {
      await using session = await openers[name].open();
      ({ sessionId } = session);
      await session.files.write("kept", "yes");
    }
    const closed = await openers[name].again(sessionId);
    await closed.close();
    const again = await openers[name].again(sessionId);
    expect(again.sessionId).toBe(sessionId);
    expect(await again.files.read("kept")).toBe("yes");
    await again.delete();
    const missing = async () => (await openers[name].again(sessionId)).files.read("kept");
    await expect(missing()).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });
});

describe("a SessionSandbox", () => {
  it("is a session like the others, which delete ends for good", async () => {
    await using session = await SessionSandbox.open("scope", { stateDir });
    await session.files.write("f", "é");
    expect([await session.files.read("f"), [...(await session.files.readBytes("f"))]]).toEqual([
      "é",
      [0xc3, 0xa9],
    ]);
    expect(await session.exec("cat f")).toMatchObject({ stdout: "é", sessionId: session.sessionId });
    await session.close();
    expect(session.sandbox.isRunning).toBe(false);
    await using again = await SessionSandbox.open("scope", { stateDir });
    expect(await again.files.read("f")).toBe("é");
    await again.delete();
    expect(again.sandbox.isRunning).toBe(false);
    await expect(Sandbox.connect("scope", { stateDir })).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  it("is past the configuration's security mode, and closes its sandbox as everything is closed", async () => {
    const config = await parseConfig({ sandbox: { securityMode: "strict" } });
    await using session = await SessionSandbox.open(undefined, { stateDir, config });
    expect(await session.exec("rm -rf /tmp/*; echo gone")).toMatchObject({ stdout: "gone\n" });
    await session.sandbox.close();
    expect(session.sandbox.isRunning).toBe(false);
  });
});

describe("Sandbox.create", () => {
  const codes = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
    outcomes.map((each) => (each.status === "fulfilled" ? "made" : each.reason.code)).sort();
  const policy = parsePolicy("policies: { tools: { shell_exec: { denied_commands: [curl] } } }", "test");

  it.each([
    ["without a policy", {}],
    ["with a policy", { policy }],
  ])("makes one session of a name, %s, also when it is asked at once and again", async (_, given) => {
    const options = { stateDir, ...given, sessionId: randomUUID() };
    const outcomes = await Promise.allSettled([Sandbox.create(options), Sandbox.create(options)]);
    expect(codes(outcomes)).toEqual(["CONFLICT", "made"]);
    expect(codes(await Promise.allSettled([Sandbox.create(options)]))).toEqual(["CONFLICT"]);
    const [made] = outcomes.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
    await made!.close();
    expect(codes(await Promise.allSettled([Sandbox.create(options)]))).toEqual(["CONFLICT"]);
    await using again = await Sandbox.connect(options.sessionId, { stateDir, ...given });
    expect(await again.exec("echo on")).toMatchObject({ reason: "exited", stdout: "on\n" });
    await again.delete();
    await using other = await Sandbox.create(options);
    await other.delete();
  });

  it("makes one session of a name where two processes ask, whose managers share nothing but the directory", async () => {
    const sessionId = randomUUID();
    const others = [new SandboxManager({ stateDir, policy }), new SandboxManager({ stateDir, policy })];
    try {
      expect(codes(await Promise.allSettled(others.map((each) => each.createSandbox(sessionId))))).toEqual([
        "CONFLICT",
        "made",
      ]);
      await others[0]!.deleteSession(sessionId);
    } finally {
      for (const each of others) await each.close();
    }
  });

  it("leaves no session where it cannot start one", async () => {
    const sessionId = randomUUID();
    const options = { stateDir, sessionId, backend: "none-such" };
    await expect(Sandbox.create(options)).rejects.toMatchObject({ code: expect.any(String) });
    await expect(Sandbox.connect(sessionId, { stateDir })).rejects.toMatchObject({
      code: "SESSION_NOT_FOUND",
    });
  });
});

describe("Sandbox.connect", () => {
  it("opens one sandbox for all that ask at once, and ends all of them with a delete", async () => {
    const { sessionId } = await closedSession();
    const [one, other] = await Promise.all([
      Sandbox.connect(sessionId, { stateDir }),
      Sandbox.connect(sessionId, { stateDir }),
    ]);
    const { id } = await one.processes.exec("sleep 1000");
    expect(await other.processes.list()).toMatchObject([{ id, state: "running" }]);
    await one.delete();
    await expect(other.exec("true")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
    await other.close();
  });

  it("ends a session that was opened again by a handle that was closed before", async () => {
    const first = await Sandbox.create({ stateDir });
    await first.close();
    await using again = await Sandbox.connect(first.sessionId, { stateDir });
    await first.delete();
    await expect(again.exec("true")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  it("opens the session that is open here, with what runs in it", async () => {
    await using made = await Sandbox.create({ stateDir });
    const process = await made.processes.exec("sleep 1000");
    const found = await Sandbox.connect(made.sessionId, { stateDir });
    expect(await found.processes.list()).toMatchObject([{ id: process.id, state: "running" }]);
    const other = { stateDir, limits: { pids: 7 } };
    await expect(Sandbox.connect(made.sessionId, other)).rejects.toMatchObject({ code: "CONFLICT" });
    await found.delete();
    await expect(made.files.read("f")).rejects.toMatchObject({ code: "SESSION_NOT_FOUND" });
  });

  it("opens a session with its files, and refuses what only a new one takes", async () => {
    await using made = await Sandbox.create({ stateDir });
    await made.files.write("f", "kept");
    await made.close();
    const options = { stateDir, ephemeral: true };
    await expect(Sandbox.connect(made.sessionId, options)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
    await using found = await Sandbox.connect(made.sessionId, { stateDir });
    expect([found.sessionId, await found.files.read("f")]).toEqual([made.sessionId, "kept"]);
    await found.delete();
  });
});

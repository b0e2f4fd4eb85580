import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { beforeAll, expect, it, onTestFinished } from "vitest";
import { printedIn, processesWith, textOf } from "../../../test/e2e/mcp-client.js";
import { connectMcp, type McpConnectOptions } from "../../../test/setup/mcp-http.js";
import { requires } from "../../../test/setup/requires.js";
import { openTcpForwarder } from "../../../test/setup/tcp-forwarder.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { uniqueSeconds } from "../../core/testing/unique-seconds.js";
import { waitUntil } from "../../kit/wait-until.js";

const LONG_MS = 60_000;
const real = requires("bubblewrap", "python3");
let server: TestServer;
let key: string;
let keyId: string;

beforeAll(async () => {
  server = await TestServer.open();
  ({ id: keyId, secret: key } = await server.key());
});

const connect = (options?: McpConnectOptions) => connectMcp(server.url, key, options);
const idOf = async (session: string) =>
  (await server.call(key, "GET", `/v1/sessions/${session}`)).body.sessionUid;

real.describe("MCP over HTTP", () => {
  it("calls every tool", async () => {
    const { call, client } = await connect();
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual([
      "run_code",
      "shell_exec",
      "file_read",
      "file_write",
      "file_edit",
      "file_list",
      "file_search",
      "file_delete",
      "run_tests",
    ]);
    expect(printedIn(await call("run_code", { language: "python", code: "print(6 * 7)" }))).toBe("42");
    expect(await call("shell_exec", { command: "pwd; exit 3" })).toMatchObject({
      isError: true,
      _meta: { "skerry/outcome": { status: "error" }, "skerry/result": { exitCode: 3, reason: "exited" } },
    });
    const content = "def add(a, b):\n  return a - b\n";
    expect(await call("file_write", { path: "a/n.py", content })).toMatchObject({
      structuredContent: { status: "success", summary: "a/n.py was written: 30 bytes", path: "a/n.py" },
    });
    await call("file_edit", { path: "a/n.py", oldText: "a - b", newText: "a + b" });
    expect(printedIn(await call("file_read", { path: "a/n.py" }))).toBe("def add(a, b):\n  return a + b\n");
    expect(printedIn(await call("file_list", { path: "a" }))).toBe('30\t"a/n.py"');
    expect(printedIn(await call("file_search", { content: "return" }))).toBe('"a/n.py":2:   return a + b');
    const tests = { language: "python", path: "a/n.py", cases: [{ call: "add(1, 2)", expected: 3 }] };
    expect(textOf(await call("run_tests", tests))).toBe("All passed: 1 passed");
    await call("file_delete", { path: "a", recursive: true });
    expect(textOf(await call("file_list"))).toBe("0 entries");
  });

  it("records what it runs as any execution, in whose name and by which request", async () => {
    const { call } = await connect({
      session: "recorded",
      name: "cli\u001bent",
      headers: { "x-request-id": "mcp-7" },
    });
    await call("run_code", { language: "python", code: "print(1)" });
    await call("shell_exec", { command: "exit 3" });
    await call("file_list");
    const { items } = (await server.call(key, "GET", "/v1/executions?sessionId=recorded")).body;
    const session = await idOf("recorded");
    expect(items).toMatchObject([
      {
        sessionUid: session,
        sessionId: "recorded",
        tool: "shell_exec",
        state: "done",
        result: { success: false, reason: "exited", exitCode: 3 },
      },
      {
        sessionUid: session,
        tool: "run_code",
        state: "done",
        result: { success: true, reason: "exited", exitCode: 0 },
      },
    ]);
    const audit = (await server.call(key, "GET", "/v1/audit?sessionId=recorded")).body.items;
    expect(audit.map(({ tool }: { tool: string }) => tool)).toEqual(["file_list", "shell_exec", "run_code"]);
    expect(audit[0]).toMatchObject({
      session_id: session,
      org_id: "default",
      agent_id: `key:${keyId} (mcp: cli\\x1bent)`,
      details: { request_id: "mcp-7" },
    });
  });

  it("keeps state in contexts, and returns pictures as images", async () => {
    const { call } = await connect();
    const run = (code: string) => call("run_code", { language: "python", context: "main", code });
    await run("x = 20");
    expect(printedIn(await run("x + 22"))).toBe("42");
    const picture = "class P:\n  def _repr_png_(self): return b'\\x89PNG\\r\\n\\x1a\\n' + b'x' * 10\nP()";
    const { content } = await run(picture);
    expect(content).toEqual([
      { type: "text", text: expect.any(String) },
      {
        type: "image",
        mimeType: "image/png",
        data: Buffer.from(`\x89PNG\r\n\x1a\n${"x".repeat(10)}`, "latin1").toString("base64"),
      },
    ]);
  });

  it("tells of output while a program runs, and of files that a call changed, to its own client only", async () => {
    const [one, two] = await Promise.all([connect({ session: "shared" }), connect({ session: "shared" })]);
    const told: string[] = [];
    const toldTwo: string[] = [];
    one.client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void told.push("list"));
    one.client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void told.push(params.uri),
    );
    two.client.setNotificationHandler(ResourceListChangedNotificationSchema, () => void toldTwo.push("list"));
    two.client.fallbackNotificationHandler = async ({ method }) => void toldTwo.push(method);
    await one.client.subscribeResource({ uri: "workspace:///a.txt" });
    const progress: string[] = [];
    const command = "echo first; until [ -e go ]; do sleep 0.05; done; echo 1 > a.txt; echo last";
    const running = one.client.callTool({ name: "shell_exec", arguments: { command } }, undefined, {
      onprogress: ({ message }) => void progress.push(message ?? ""),
    });
    await waitUntil(() => progress.length > 0, LONG_MS);
    expect(progress).toEqual(["first"]);
    await two.call("shell_exec", { command: "touch go" });
    await waitUntil(() => toldTwo.length > 0, LONG_MS);
    await running;
    await waitUntil(() => told.length >= 2, LONG_MS);
    expect(told).toEqual(["list", "workspace:///a.txt"]);
    expect(toldTwo).toEqual(["list"]);
    expect((await one.client.listResources()).resources.map(({ uri }) => uri)).toEqual([
      "workspace:///a.txt",
      "workspace:///go",
    ]);
    expect((await two.client.readResource({ uri: "workspace:///a.txt" })).contents).toEqual([
      { uri: "workspace:///a.txt", mimeType: "text/plain", text: "1\n" },
    ]);
    await expect(two.client.readResource({ uri: "workspace:///none" })).rejects.toMatchObject({
      code: -32002,
    });
  });

  it("kills a program whose call is cancelled, ends its stream, and goes on", async () => {
    const { client, call, errors } = await connect({
      session: "cancelled",
      transport: { reconnectionOptions: { ...FAST, maxRetries: 2 } },
    });
    const seconds = uniqueSeconds();
    const controller = new AbortController();
    const code = `import subprocess\nsubprocess.run(["setsid", "sleep", "${seconds}"])`;
    const running = client.callTool(
      { name: "run_code", arguments: { language: "python", code, timeoutMs: 60_000 } },
      undefined,
      { signal: controller.signal },
    );
    running.catch(() => undefined);
    await waitUntil(() => processesWith(seconds).length > 0, LONG_MS);
    expect((await server.call(server.admin, "GET", "/v1/pool")).body.running).toBe(1);
    controller.abort("enough");
    await expect(running).rejects.toThrow(/enough/);
    await waitUntil(() => processesWith(seconds).length === 0, LONG_MS);
    await waitUntil(
      async () => (await server.call(server.admin, "GET", "/v1/pool")).body.running === 0,
      LONG_MS,
    );
    const [execution] = (await server.call(key, "GET", "/v1/executions?sessionId=cancelled")).body.items;
    expect(execution).toMatchObject({ state: "done", result: { success: false, reason: "cancelled" } });
    expect(printedIn(await call("run_code", { language: "python", code: "print(1)" }))).toBe("1");
    expect(errors).toEqual([]);
  });

  it("gives a client what it missed while its connection was broken, and does not start anything twice", async () => {
    const gate = await openTcpForwarder(server.url);
    onTestFinished(() => gate.close());
    const { client } = await connectMcp(`http://127.0.0.1:${gate.port}`, key, {
      session: "broken",
      transport: { reconnectionOptions: { ...FAST, maxRetries: 100 } },
    });
    const command = "echo x >> starts; until [ -e go ]; do sleep 0.05; done; wc -l < starts";
    const running = client.callTool({ name: "shell_exec", arguments: { command, timeoutMs: 60_000 } });
    running.catch(() => undefined);
    const at = "/v1/sessions/broken/files";
    await waitUntil(async () => (await server.call(key, "GET", at)).body.items?.length === 1, LONG_MS);
    for (const socket of gate.connectionsTo("/mcp")) socket.destroy();
    await server.call(key, "POST", `${at}/mkdir`, { path: "go" });
    expect(printedIn((await running) as never)).toBe("1");
  });

  it("gives the answer to who comes back when the call has ended long since, once it is asked for", async () => {
    const { transport, call } = await connect({ session: "missed" });
    const headers = {
      authorization: `Bearer ${key}`,
      "mcp-session-id": transport.sessionId!,
      "mcp-protocol-version": transport.protocolVersion!,
    };
    const gone = new AbortController();
    const response = await fetch(`${server.url}/mcp`, {
      method: "POST",
      headers: {
        ...headers,
        accept: "application/json, text/event-stream",
        "content-type": "application/json",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: "mine",
        method: "tools/call",
        params: {
          name: "shell_exec",
          arguments: { command: "until [ -e go ]; do sleep 0.05; done; echo over > result" },
        },
      }),
      signal: gone.signal,
    });
    const { value } = await response.body!.pipeThrough(new TextDecoderStream()).getReader().read();
    const lastEventId = /^id: (\S+)$/m.exec(value!)![1]!;
    gone.abort();
    await call("file_write", { path: "go", content: "" });
    const ended = async () =>
      (await server.call(key, "GET", "/v1/executions?sessionId=missed")).body.items[0].state === "done";
    await waitUntil(ended, LONG_MS);
    const back = (after: string) =>
      fetch(`${server.url}/mcp`, {
        headers: { ...headers, accept: "text/event-stream", "last-event-id": after },
      });
    // It is told all of it, and that this is all.
    const missed = await (await back(lastEventId)).text();
    const [, id, data] = /^event: message\nid: (\S+)\ndata: (.*)\n\n$/.exec(missed)!;
    expect(JSON.parse(data!)).toMatchObject({ id: "mine", result: { isError: false } });
    expect((await back(id!)).status).toBe(204);
    const unknown = await back("x_1");
    expect([unknown.status, await unknown.json()]).toMatchObject([400, { code: "INVALID_ARGUMENT" }]);
    const other = await connect();
    const foreign = await fetch(`${server.url}/mcp`, {
      headers: {
        ...headers,
        "mcp-session-id": other.transport.sessionId!,
        accept: "text/event-stream",
        "last-event-id": lastEventId,
      },
    });
    expect([foreign.status, ((await foreign.json()) as { code: string }).code]).toEqual([
      400,
      "INVALID_ARGUMENT",
    ]);
  });

  it("lets a client of the session go on that has lost all of its connections", async () => {
    const first = await connect({ session: "resumed" });
    await first.call("run_code", { language: "python", context: "main", code: "x = 42" });
    const { sessionId, protocolVersion } = first.transport;
    await first.client.close();
    const transport = new StreamableHTTPClientTransport(new URL(`${server.url}/mcp`), {
      sessionId: sessionId!,
      requestInit: { headers: { authorization: `Bearer ${key}` } },
    });
    transport.setProtocolVersion(protocolVersion!);
    const answered = new Promise<unknown>((resolve) => {
      transport.onmessage = resolve;
    });
    await transport.start();
    onTestFinished(() => transport.close());
    const params = { name: "run_code", arguments: { language: "python", context: "main", code: "x" } };
    await transport.send({ jsonrpc: "2.0", id: "again", method: "tools/call", params });
    expect(await answered).toMatchObject({
      id: "again",
      result: { content: [{ text: expect.stringContaining("\n42\n") }] },
    });
  });
});

const FAST = { initialReconnectionDelay: 50, maxReconnectionDelay: 200, reconnectionDelayGrowFactor: 1.1 };

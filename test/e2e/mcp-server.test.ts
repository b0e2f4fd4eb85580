import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { uniqueSeconds } from "../../src/core/testing/unique-seconds.js";
import { waitUntil } from "../../src/kit/wait-until.js";
import { openStore } from "../../src/server/store/index.js";
import { connectMcp } from "../setup/mcp-http.js";
import { requires } from "../setup/requires.js";
import { type ServerProcess, startServer } from "../setup/server-process.js";
import { processesWith, sessionsOf } from "./mcp-client.js";
import { createUser, LAUNCHER, ROOT, type User } from "./run-skerry.js";

const LONG_MS = 60_000;
let user: User;
let server: ServerProcess;

beforeEach(async () => {
  user = createUser();
  server = await startServer(user);
});
afterEach(async () => {
  server.kill("SIGKILL");
  await server.ended;
  // What a killed server left goes with the next command of the same state directory.
  user.skerry(["exec", "--", "true"]);
});

requires("bubblewrap").describe("a server that is killed", () => {
  it("leaves nothing of its MCP clients running, and the next one removes their own sessions", async () => {
    const key = server.key!;
    const { call, transport } = await connectMcp(server.url, key);
    const named = await connectMcp(server.url, key, { session: "named" });
    await named.call("file_write", { path: "kept", content: "1" });
    const seconds = uniqueSeconds();
    call("shell_exec", { command: `sleep ${seconds}`, timeoutMs: 600_000 }).catch(() => undefined);
    await waitUntil(() => processesWith(seconds).length > 0, LONG_MS);
    expect(sessionsOf(user)).toHaveLength(2);
    server.kill("SIGKILL");
    await server.ended;
    await waitUntil(() => processesWith(seconds).length === 0, LONG_MS);

    const store = await openStore({ url: join(user.home, "state", "server", "store.db") });
    const { items } = await store.sessions.list("default", { state: "active" });
    const own = items.find(({ name }) => name.startsWith("mcp-"))!;
    const lifeMs = own.expiresAt! - own.renewedAt;
    expect(lifeMs).toBeLessThanOrEqual(60_000);
    // As if that time were over.
    await store.sessions.renew("default", own.name, Date.now() + 1);
    await store.close();
    server = await startServer(user);
    await waitUntil(() => sessionsOf(user).length === 1, LONG_MS);
    const headers = { authorization: `Bearer ${key}` };
    const ask = (path: string, more: Record<string, string> = {}) =>
      fetch(`${server.url}${path}`, { headers: { ...headers, ...more } });
    const listed = (await (await ask("/v1/sessions")).json()) as { items: { sessionId: string }[] };
    expect(listed.items.map(({ sessionId }) => sessionId)).toEqual(["named"]);
    const executions = (await (await ask("/v1/executions")).json()) as { items: { state: string }[] };
    expect(executions.items.map(({ state }) => state)).toEqual(["interrupted"]);
    // A client that comes back initializes again.
    const id = { "mcp-session-id": transport.sessionId!, accept: "text/event-stream" };
    expect((await ask("/mcp", id)).status).toBe(404);
  });
});

requires("bubblewrap", "python3", "mcp-inspector").describe("the command line of the MCP inspector", () => {
  const run = promisify(execFile);
  // It looks for its own package.json from where it is run.
  const cwd = join(ROOT, "node_modules/@modelcontextprotocol/inspector-cli/build");

  /** Calls one method, as a person would. */
  async function inspect(target: readonly string[], ...args: string[]) {
    const { stdout } = await run(process.execPath, ["cli.js", "--cli", ...target, ...args], {
      cwd,
      env: { ...user.environment },
    });
    return JSON.parse(stdout);
  }

  it("lists and calls the tools, and reads a file, over standard input and over HTTP", async () => {
    const header = ["--header", `Authorization: Bearer ${server.key}`];
    const targets = [
      [LAUNCHER, "mcp", "--session", "inspected"],
      [`${server.url}/mcp?session=inspected`, "--transport", "http", ...header],
    ];
    for (const target of targets) {
      const { tools } = await inspect(target, "--method", "tools/list");
      expect(tools.map(({ name }: { name: string }) => name)).toContain("run_code");
      const code = "code=open('made.txt', 'w').write('yes'); print(6 * 7)";
      const called = await inspect(
        target,
        ...["--method", "tools/call", "--tool-name", "run_code"],
        ...["--tool-arg", "language=python", "--tool-arg", code],
      );
      expect(called).toMatchObject({
        isError: false,
        content: [{ type: "text", text: expect.stringContaining("\n42\n") }],
      });
      const read = await inspect(target, "--method", "resources/read", "--uri", "workspace:///made.txt");
      expect(read.contents).toEqual([{ uri: "workspace:///made.txt", mimeType: "text/plain", text: "yes" }]);
    }
  });
});

import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { requires } from "../../../test/setup/requires.js";
import { createDatabase } from "../../../test/setup/test-databases.js";
import { TestServer } from "../../../test/setup/test-server.js";
import { waitUntil } from "../../kit/wait-until.js";

const CONCURRENCY = 2;

let database: Awaited<ReturnType<typeof createDatabase>>;
let other: pg.Client;
let server: TestServer;
let key: string;

requires("bubblewrap", "postgresql").describe("a caller that hangs up while the database is slow", () => {
  beforeAll(async () => {
    database = await createDatabase();
    other = new pg.Client(database.url);
    await other.connect();
    server = await TestServer.open({
      server: { store: database.url, limits: { concurrency: CONCURRENCY } },
      sandbox: { network: { allowLocalBinding: true } },
    });
    key = (await server.key()).secret;
  });
  afterAll(async () => {
    await server?.close();
    await other?.end();
  });

  it("gives its place back while its key is looked up", async () => {
    for (let round = 0; round < 2 * CONCURRENCY; round++) await hangUp("api_keys", "/v1/sessions");
    expect((await server.call(key, "GET", "/v1/sessions")).status).toBe(200);
  });

  it("gives it back with a socket, too, and its session can end", async () => {
    await server.call(key, "POST", "/v1/sessions", { sessionId: "s" });
    const upgrade =
      "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (let round = 0; round < 2 * CONCURRENCY; round++) {
      await hangUp("api_keys", "/v1/sessions/s/tunnels/8000", upgrade);
      await hangUp("sessions", "/v1/sessions/s/tunnels/8000", upgrade);
    }
    expect(await server.call(key, "DELETE", "/v1/sessions/s")).toMatchObject({ status: 200 });
  });

  it("leaves nothing of an MCP client's stream", async () => {
    const message = {
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
    };
    const accept = { accept: "application/json, text/event-stream" };
    const opened = await server.fetch(key, "POST", "/mcp", {
      headers: { "content-type": "application/json", ...accept },
      body: JSON.stringify(message),
    });
    await opened.text();
    const id = opened.headers.get("mcp-session-id")!;
    const standing = `accept: text/event-stream\r\nmcp-session-id: ${id}\r\n`;
    await hangUp("sessions", "/mcp", standing);
    // The released one does not block the next, of which one is allowed.
    const controller = new AbortController();
    await waitUntil(async () => {
      const again = await server.fetch(key, "GET", "/mcp", {
        headers: { "mcp-session-id": id, accept: "text/event-stream" },
        signal: controller.signal,
      });
      return again.status === 200;
    });
    controller.abort();
    expect((await server.fetch(key, "DELETE", "/mcp", { headers: { "mcp-session-id": id } })).status).toBe(
      204,
    );
  });
});

/** Asks for a path, and is gone before the table can be read. */
async function hangUp(table: string, path: string, headers = ""): Promise<void> {
  await other.query("BEGIN");
  await other.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${key}\r\n${headers}\r\n`);
  const waiting =
    "SELECT count(*)::int AS count FROM pg_locks WHERE NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
  await waitUntil(async () => (await other.query(waiting)).rows[0].count > 0);
  socket.destroy();
  // Until the server has seen it.
  await delay(100);
  await other.query("ROLLBACK");
}

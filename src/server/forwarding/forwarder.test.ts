import { connect } from "node:net";
import { text } from "node:stream/consumers";
import websocket from "@fastify/websocket";
import { type FastifyInstance, fastify } from "fastify";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { requires } from "../../../test/setup/requires.js";
import { createDatabase } from "../../../test/setup/test-databases.js";
import { SandboxError } from "../../kit/errors.js";
import { waitUntil } from "../../kit/wait-until.js";
import { replyWithError } from "../http/error-reply.js";
import { TaskRegistry } from "../sessions/task-registry.js";
import type { ApiKeyRecord, LeaseToken, Store } from "../store/index.js";
import { openStore } from "../store/index.js";
import { Forwarder } from "./forwarder.js";

const LEASE_MS = 60_000;

/** As much of a server as a socket of a session needs. */
interface Peer {
  readonly app: FastifyInstance;
  readonly forwarder: Forwarder;
  readonly lease: LeaseToken;
  readonly tasks: TaskRegistry;
  /** Every request that came. */
  readonly seen: string[];
  /** Sockets that are open here. */
  readonly sockets: Set<WebSocket>;
  readonly url: string;
}

let database: Awaited<ReturnType<typeof createDatabase>>;
let store: Store;
let front: Peer;
let owner: Peer;

async function createPeer(id: string): Promise<Peer> {
  const app = fastify({ forceCloseConnections: true });
  const lease = await store.servers.start({ id, url: "", leaseMs: LEASE_MS });
  const tasks = new TaskRegistry();
  const sockets = new Set<WebSocket>();
  const seen: string[] = [];
  app.setErrorHandler(replyWithError);
  app.decorateRequest("key");
  app.addHook("onRequest", async (request, reply) => {
    seen.push(`${request.method} ${request.url}`);
    request.key = { org: "acme" } as ApiKeyRecord;
    if (request.headers.upgrade !== undefined)
      reply.raw.once("finish", () => request.raw.socket.destroySoon());
  });
  const sessions = { isName: () => true, isOwn: () => false };
  const forwarder = new Forwarder({ store, server: id, sessions, tasks, ca: undefined });
  forwarder.addTo(app);
  await app.register(websocket);
  await app.register(async (scope) => {
    scope.get("/v1/sessions/:sessionId/socket", { websocket: true }, (socket: WebSocket, request) => {
      sockets.add(socket);
      socket.on("close", () => sockets.delete(socket));
      socket.on("error", () => socket.terminate());
      socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
      socket.send(`${id} of ${request.headers.authorization} as ${request.headers.host}`);
    });
    scope.addHook("preValidation", async ({ query }) => {
      if ("refuse" in (query as object)) throw new SandboxError("FORBIDDEN", "not you");
    });
    scope.get("/v1/sessions/:sessionId/silent", () => new Promise(() => undefined));
    scope.addContentTypeParser("*", { parseAs: "string" }, async (_: unknown, body: string) => body);
    scope.delete("/v1/sessions/:sessionId/body", async ({ body }) => ({ body }));
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  await store.servers.announce(lease, url);
  return { app, forwarder, lease, tasks, seen, sockets, url };
}

requires("postgresql").describe("a socket of another server's session", () => {
  beforeEach(async () => {
    database = await createDatabase();
    store = await openStore({ url: database.url });
    front = await createPeer("front");
    owner = await createPeer("owner");
    await store.sessions.create("acme", { name: "there", settings: {}, lease: owner.lease });
  });
  afterEach(async () => {
    await front.app.close();
    await owner.app.close();
    await store.close();
  });

  const open = async () => {
    const socket = new WebSocket(`${front.url.replace("http", "ws")}/v1/sessions/there/socket`, {
      headers: { authorization: "Bearer k" },
    });
    const messages: string[] = [];
    socket.on("message", (data) => messages.push(String(data)));
    await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
    return { socket, messages, closed: new Promise((resolve) => socket.once("close", resolve)) };
  };

  it("is the owner's, both ways and in order", async () => {
    const { socket, messages, closed } = await open();
    const large = "x".repeat(2_000_000);
    socket.send("one");
    socket.send(large);
    socket.send("three");
    await waitUntil(() => messages.length === 4);
    expect(messages[0]).toBe(`owner of Bearer k as ${new URL(owner.url).host}`);
    expect(messages.slice(1)).toEqual(["one", large, "three"]);
    expect([front.sockets.size, owner.sockets.size]).toEqual([0, 1]);
    // A stop does not wait for it.
    expect(front.tasks.size).toBe(0);
    socket.close(4000, "enough");
    await closed;
    await waitUntil(() => owner.sockets.size === 0);
  });

  it("ends on both sides, whichever ends", async () => {
    const first = await open();
    first.socket.terminate();
    await waitUntil(() => owner.sockets.size === 0);
    const second = await open();
    for (const socket of owner.sockets) socket.terminate();
    await second.closed;
    const third = await open();
    await front.app.close();
    await third.closed;
    await waitUntil(() => owner.sockets.size === 0);
  });

  it("loses nothing that was sent before it was read", async () => {
    const { hostname, port, host } = new URL(front.url);
    const socket = connect(Number(port), hostname);
    const head = [
      "GET /v1/sessions/there/socket HTTP/1.1",
      `Host: ${host}`,
      "Connection: Upgrade",
      "Upgrade: websocket",
      "Sec-WebSocket-Version: 13",
      "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
    ];
    // A masked text "hi", with a mask of zeros, and a close.
    const frames = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69, 0x88, 0x80, 0, 0, 0, 0]);
    socket.write(Buffer.concat([Buffer.from(`${head.join("\r\n")}\r\n\r\n`), frames]));
    const answer = await text(socket.setEncoding("latin1"));
    expect(answer.split("\r\n")[0]).toBe("HTTP/1.1 101 Switching Protocols");
    expect(answer).toContain("\x81\x02hi");
  });

  it("is refused as the owner refuses it", async () => {
    const socket = new WebSocket(`${front.url.replace("http", "ws")}/v1/sessions/there/socket?refuse`);
    const status = await new Promise((resolve) => {
      socket.once("error", () => undefined);
      socket.once("unexpected-response", (_, response) => resolve(response.statusCode));
    });
    expect(status).toBe(403);
  });

  const hidden = "GET /v1/sessions/there/hidden HTTP/1.1\r\nHost: x\r\n\r\n";
  it.each([
    ["Transfer-Encoding: chunked", `${hidden.length.toString(16)}\r\n${hidden}\r\n0\r\n\r\n`],
    [`Content-Length: ${hidden.length}`, hidden],
    [`Content-Length: ${hidden.length}\r\nConnection: content-length`, hidden],
  ])(
    "and every other request has the body that it came with, and nothing in it is another request",
    async (framing, body) => {
      const { hostname, port, host } = new URL(front.url);
      const socket = connect(Number(port), hostname);
      const head = [
        "DELETE /v1/sessions/there/body HTTP/1.1",
        `Host: ${host}`,
        "Connection: close",
        "Content-Type: text/plain",
        framing,
      ];
      socket.write(`${head.join("\r\n")}\r\n\r\n${body}`);
      const answer = await text(socket);
      expect(answer).toContain(JSON.stringify({ body: hidden }));
      expect([front.seen, owner.seen]).toEqual(Array(2).fill(["DELETE /v1/sessions/there/body"]));
    },
  );

  it("and every other request ends when its owner is dead, though the connection was not closed", async () => {
    const { closed } = await open();
    const waiting = fetch(`${front.url}/v1/sessions/there/silent`);
    await waitUntil(() => front.tasks.size === 1);
    await front.forwarder.cancelDead();
    expect(front.tasks.size).toBe(1);
    await store.servers.heartbeat(owner.lease, 0);
    await front.forwarder.cancelDead();
    await closed;
    const response = await waiting;
    expect([response.status, await response.json()]).toMatchObject([503, { code: "SERVER_UNREACHABLE" }]);
    expect(front.tasks.size).toBe(0);
  });

  it("is not waited for where the owner has started and does not listen yet", async () => {
    await store.servers.announce(owner.lease, "");
    const response = await fetch(`${front.url}/v1/sessions/there/silent`);
    expect([response.status, await response.json()]).toMatchObject([503, { code: "SERVER_UNREACHABLE" }]);
  });
});

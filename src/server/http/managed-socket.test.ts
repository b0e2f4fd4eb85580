import type { AddressInfo } from "node:net";
import websocket from "@fastify/websocket";
import { type FastifyInstance, fastify } from "fastify";
import { afterEach, beforeEach, expect, it } from "vitest";
import { WebSocket } from "ws";
import { waitUntil } from "../../kit/wait-until.js";
import { ManagedSocket, type ManagedSocketOptions } from "./managed-socket.js";

let app: FastifyInstance;
let holds: boolean;
let asked: number;
let isLost: boolean;

beforeEach(async () => {
  holds = true;
  asked = 0;
  isLost = false;
  app = fastify();
  app.decorate("assertLease", () => {
    if (isLost) throw new Error("the place is another's");
  });
  app.decorateRequest("keyHolds", async () => {
    asked++;
    return holds;
  });
  await app.register(websocket);
});

afterEach(() => app.close());

/** Both ends of one connection. */
async function connect(options: ManagedSocketOptions, autoPong = true) {
  const accepted = new Promise<ManagedSocket>((resolve) => {
    app.get("/", { websocket: true }, (socket, request) =>
      resolve(new ManagedSocket(socket, request, options)),
    );
  });
  await app.listen({ port: 0, host: "127.0.0.1" });
  const { port } = app.server.address() as AddressInfo;
  const client = new WebSocket(`ws://127.0.0.1:${port}/`, { autoPong });
  const closed = new Promise<number>((resolve) => client.once("close", resolve));
  await new Promise((resolve) => client.once("open", resolve));
  return { kept: await accepted, client, closed };
}

it("a socket whose other side does not answer is cut off, also when it takes what it is told", async () => {
  const { kept, closed } = await connect({ pingMs: 100 }, false);
  const timer = setInterval(() => kept.tell("news"), 20);
  expect(await closed).toBe(1006);
  clearInterval(timer);
});

it("a socket whose other side answers stays open", async () => {
  const { kept, client } = await connect({ pingMs: 1000 });
  let pings = 0;
  client.on("ping", () => pings++);
  await waitUntil(() => pings >= 3);
  expect(kept.isOpen).toBe(true);
});

it("a socket is not cut off while we ourselves do not read from it", async () => {
  const { kept, client } = await connect({ pingMs: 200 });
  let goOn = () => {};
  const taken: string[] = [];
  kept.onMessage(async (data) => {
    taken.push(String(data));
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
  });
  for (const text of ["one", "two"]) client.send(text);
  let pings = 0;
  client.on("ping", () => pings++);
  await waitUntil(() => pings >= 3);
  expect([taken, kept.isOpen]).toEqual([["one"], true]);
  goOn();
  await waitUntil(() => taken.length === 2);
  goOn();
  await kept.messages;
});

it("a key that was revoked is noticed without a message, and with the next one", async () => {
  const quiet = await connect({ pingMs: 100 });
  holds = false;
  expect(await quiet.closed).toBe(1008);
});

it("no message of a revoked key is taken, and none that comes in the same moment either", async () => {
  const { kept, client, closed } = await connect({});
  const taken: string[] = [];
  kept.onMessage((data) => void taken.push(String(data)));
  client.send("before");
  await waitUntil(() => taken.length === 1);
  holds = false;
  for (const text of ["after", "again"]) client.send(text);
  expect(await closed).toBe(1008);
  await kept.messages;
  expect(taken).toEqual(["before"]);
});

it("a key is asked for once in its time where there are many messages", async () => {
  const { kept, client } = await connect({ keyHoldsMs: 60_000 });
  let count = 0;
  kept.onMessage(() => void count++);
  for (let index = 0; index < 50; index++) client.send("x");
  await waitUntil(() => count === 50);
  expect(asked).toBe(0);
});

it("what goes wrong with a message is told in the one shape, and the next one is taken", async () => {
  const { kept, client } = await connect({});
  const told: Record<string, unknown>[] = [];
  client.on("message", (data) => told.push(JSON.parse(String(data))));
  kept.onMessage((data) => {
    if (String(data) === "bad") throw new Error("the inside of it");
    kept.tell({ type: "fine" });
  });
  for (const text of ["bad", "good"]) client.send(text);
  await waitUntil(() => told.length === 2);
  expect(told).toEqual([
    {
      type: "error",
      code: "INTERNAL",
      message: "Something went wrong inside the server",
      hint: "The server's log has it under this request id.",
      retryable: false,
      requestId: expect.any(String),
    },
    { type: "fine" },
  ]);
});

it("a client that reads nothing is disconnected before it fills our memory", async () => {
  const { kept, client, closed } = await connect({});
  client.pause();
  const data = "x".repeat(1024 * 1024);
  await waitUntil(() => {
    kept.tell(data);
    return !kept.isOpen;
  });
  client.resume();
  expect(await closed).toBe(1006);
});

it.each(["words", "bytes"])(
  "no client is told %s by a server that others may have taken for dead",
  async (what) => {
    const { kept, client, closed } = await connect({});
    const told: string[] = [];
    client.on("message", (data) => told.push(String(data)));
    kept.tell("before");
    isLost = true;
    if (what === "words") kept.tell("after");
    else await new Promise<void>((resolve) => kept.send(Buffer.from("after"), resolve));
    expect(await closed).toBe(1006);
    expect(told.filter((text) => text.includes("after"))).toEqual([]);
  },
);

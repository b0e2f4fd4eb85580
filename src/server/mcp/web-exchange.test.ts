import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { fastify } from "fastify";
import { expect, it, onTestFinished } from "vitest";
import { waitUntil } from "../../kit/wait-until.js";
import { checkAnswer, sendAnswer } from "./web-exchange.js";

const MIB = 1024 * 1024;

/** A server whose one answer is this stream, and a caller that has asked for it and reads nothing. */
async function unread(body: ReadableStream<Uint8Array>, maxUnreadBytes: number): Promise<Socket> {
  const app = fastify({ forceCloseConnections: true });
  app.get("/", async (_, reply) => {
    await sendAnswer(reply, new Response(body), maxUnreadBytes);
    return reply;
  });
  await app.listen({ host: "127.0.0.1", port: 0 });
  onTestFinished(() => app.close());
  const socket = connect((app.server.address() as AddressInfo).port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  socket.pause().write("GET / HTTP/1.1\r\nhost: x\r\n\r\n");
  return socket;
}

it("cuts off a caller that reads nothing, and asks for no more", async () => {
  let asked = 0;
  let isCancelled = false;
  const body = new ReadableStream<Uint8Array>(
    {
      pull: (controller) => {
        asked++;
        controller.enqueue(new Uint8Array(MIB));
      },
      cancel: () => {
        isCancelled = true;
      },
    },
    { highWaterMark: 0 },
  );
  await unread(body, 2 * MIB);
  await waitUntil(() => isCancelled);
  // What the kernel took, and a little more.
  expect(asked).toBeLessThan(50);
});

it("sends one message of any size", async () => {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      controller.enqueue(new Uint8Array(30 * MIB));
      controller.close();
    },
  });
  const socket = await unread(body, MIB);
  let bytes = 0;
  socket.on("data", (chunk: Buffer) => {
    bytes += chunk.length;
  });
  socket.resume();
  await waitUntil(() => bytes > 30 * MIB);
});

it.each([
  [400, "INVALID_ARGUMENT"],
  [404, "NOT_FOUND"],
  [406, "INVALID_ARGUMENT"],
  [409, "CONFLICT"],
  [415, "MEDIA_TYPE_UNSUPPORTED"],
  [500, "INTERNAL"],
])("tells a refusal with %i of the SDK as %s, in a form in which nothing acts", async (status, code) => {
  const error = { code: -32000, message: "Unsupported protocol version: \u001b[31m", data: "at /root/x.js" };
  const refused = checkAnswer(Response.json({ jsonrpc: "2.0", error, id: null }, { status }));
  await expect(refused).rejects.toMatchObject({
    code,
    message: "The protocol: Unsupported protocol version: \\x1b[31m",
  });
  await expect(checkAnswer(new Response("<html>", { status }))).rejects.toMatchObject({ code });
});

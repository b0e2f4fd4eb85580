import { PassThrough } from "node:stream";
import type { JSONRPCMessage } from "@modelcontextprotocol/sdk/types.js";
import { expect, it } from "vitest";
import { waitUntil } from "../kit/wait-until.js";
import { StdioTransport } from "./stdio-transport.js";

/** A transport between two streams of this process, and what came of it. */
async function open(maxMessageBytes?: number) {
  const [input, output] = [new PassThrough(), new PassThrough({ highWaterMark: 1024 * 1024 })];
  const seen = { messages: [] as JSONRPCMessage[], closed: 0, errors: [] as string[] };
  const transport = new StdioTransport({ input, output, maxMessageBytes });
  transport.onmessage = (message) => void seen.messages.push(message);
  transport.onclose = () => void seen.closed++;
  transport.onerror = (error) => void seen.errors.push(error.message);
  await transport.start();
  const answers = () =>
    String(output.read() ?? "")
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as unknown);
  /** Sends bytes, and resolves when they have been taken. */
  const say = (text: string | Buffer) =>
    new Promise<void>((resolve) => input.write(text, () => setImmediate(resolve)));
  return { input, output, transport, seen, answers, say };
}

const ping = (id: number) => ({ jsonrpc: "2.0" as const, id, method: "ping" });

it("takes one message a line, however the bytes arrive", async () => {
  const { say, seen } = await open();
  const bytes = Buffer.from(
    `${JSON.stringify({ ...ping(1), params: { é: "€" } })}\r\n\n${JSON.stringify(ping(2))}\n`,
  );
  for (const byte of bytes) await say(Buffer.from([byte]));
  await say(`${JSON.stringify(ping(3))}\n${JSON.stringify(ping(4))}\n`);
  expect(seen.messages).toEqual([{ ...ping(1), params: { é: "€" } }, ping(2), ping(3), ping(4)]);
});

it.each([
  ["no JSON", "{oops", undefined, -32700],
  ["bytes that are no text", Buffer.from([0xff, 0xfe, 0x00]), undefined, -32700],
  ["a batch", "[]", undefined, -32600],
  ["a number", "7", undefined, -32600],
  ["another protocol", '{"id":3,"method":"ping"}', 3, -32600],
  ["an id of another kind", '{"jsonrpc":"2.0","id":{},"method":"ping"}', undefined, -32600],
])("answers %s with an error, and goes on", async (_, line, id, code) => {
  const { say, seen, answers } = await open();
  await say(Buffer.concat([Buffer.from(line), Buffer.from("\n")]));
  await say(`${JSON.stringify(ping(9))}\n`);
  expect(answers()).toEqual([
    { jsonrpc: "2.0", ...(id !== undefined && { id }), error: { code, message: expect.any(String) } },
  ]);
  expect(seen.messages).toEqual([ping(9)]);
  expect(seen.closed).toBe(0);
});

it("refuses a message that is too long once, keeps nothing of it, and takes the next", async () => {
  const { say, seen, answers } = await open(100);
  for (let i = 0; i < 50; i++) await say("x".repeat(1000));
  await say(`\n${JSON.stringify(ping(1))}\n`);
  expect(answers()).toEqual([
    { jsonrpc: "2.0", error: { code: -32600, message: "The message is longer than 100 bytes" } },
  ]);
  expect(seen.messages).toEqual([ping(1)]);
});

it("takes a message of exactly the most bytes", async () => {
  const line = JSON.stringify(ping(1));
  const { say, seen } = await open(line.length);
  await say(`${line}\n`);
  expect(seen.messages).toEqual([ping(1)]);
});

it.each([
  ["its input ends", ({ input }: Opened) => input.end()],
  ["its input breaks", ({ input }: Opened) => input.destroy(new Error("broken"))],
  ["the reader is gone", ({ output }: Opened) => output.destroy(new Error("EPIPE"))],
  ["it is closed twice", ({ transport }: Opened) => void transport.close().then(() => transport.close())],
])("ends once when %s, and then sends nothing", async (_, end) => {
  const opened = await open();
  await opened.say("");
  const closed = new Promise<void>((resolve) => {
    const { onclose } = opened.transport;
    opened.transport.onclose = () => {
      onclose?.();
      resolve();
    };
  });
  end(opened);
  await closed;
  await opened.transport.send(ping(1));
  expect(opened.seen.closed).toBe(1);
  expect(opened.output.readableLength).toBe(0);
});
type Opened = Awaited<ReturnType<typeof open>>;

it("waits for a slow reader, but not once the reader is gone", async () => {
  const { transport, output } = await open();
  const big = { ...ping(1), params: { text: "x".repeat(4 * 1024 * 1024) } };
  const sent = transport.send(big);
  let isSent = false;
  void sent.then(() => {
    isSent = true;
  });
  await new Promise(setImmediate);
  expect(isSent).toBe(false);
  output.resume();
  await sent;
  const stuck = transport.send(big);
  output.destroy();
  await stuck;
});

it("does not hear a client that never reads, until it has read", async () => {
  const { transport, input, output, say, seen } = await open();
  const big = { ...ping(1), params: { text: "x".repeat(1024 * 1024) } };
  const sent = Array.from({ length: 70 }, () => transport.send(big));
  expect(input.isPaused()).toBe(true);
  const said = say(`${JSON.stringify(ping(2))}\n`);
  await new Promise(setImmediate);
  expect(seen.messages).toEqual([]);
  output.resume();
  await Promise.all([...sent, said]);
  await waitUntil(() => seen.messages.length === 1);
  expect(output.listenerCount("drain")).toBe(0);
});

import { PassThrough, type Readable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import {
  encodeFrame,
  FromGuest,
  GUEST_PAYLOAD_LIMITS,
  HEADER_BYTES,
  OUTPUT_WINDOW_BYTES,
  ToGuest,
  u32,
} from "./frames.js";
import { GuestConnection } from "./guest-connection.js";

const HELLO = encodeFrame(FromGuest.hello, 0, Buffer.concat([Buffer.from("SKRY"), u32(1, 1)]));
const open: GuestConnection[] = [];

afterEach(() => {
  for (const connection of open.splice(0)) connection.close();
});

/** A connection whose other end the test plays. */
function connect(greet = true) {
  const fromGuest = new PassThrough();
  const toGuest = new PassThrough({ highWaterMark: 4_000_000 });
  const connection = new GuestConnection({ fromGuest, toGuest });
  open.push(connection);
  connection.ready.catch(() => undefined);
  if (greet) fromGuest.write(HELLO);
  return { connection, fromGuest, sent: () => frames(toGuest) };
}

function frames(stream: Readable): { type: number; id: number; payload: Buffer }[] {
  const chunks: Buffer[] = [];
  for (let chunk: Buffer | null = stream.read(); chunk !== null; chunk = stream.read()) chunks.push(chunk);
  const bytes = Buffer.concat(chunks);
  const found: { type: number; id: number; payload: Buffer }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32LE(at);
    found.push({
      type: bytes.readUInt32LE(at + 8),
      id: bytes.readUInt32LE(at + 4),
      payload: bytes.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length),
    });
    at += HEADER_BYTES + length;
  }
  return found;
}

describe("GuestConnection", () => {
  it("is ready after the greeting, and runs a command to its exit", async () => {
    const { connection, fromGuest, sent } = connect();
    await connection.ready;
    const handle = connection.run({ argv: ["true"] });
    await sleep(1);
    const [exec] = sent();
    expect(exec?.type).toBe(ToGuest.exec);
    const id = exec!.id;
    fromGuest.write(encodeFrame(FromGuest.started, id, Buffer.from([7, 0, 0, 0, 0])));
    fromGuest.write(encodeFrame(FromGuest.stdout, id, Buffer.from("hi")));
    const exit = Buffer.alloc(24);
    exit[1] = 1;
    exit[3] = 3;
    fromGuest.write(encodeFrame(FromGuest.exit, id, exit));
    expect(await handle.started).toEqual({ pid: 7, warm: false });
    expect(await handle.exit).toMatchObject({ exitCode: 3, signal: null, clean: true });
    expect((await handle.stdout.toArray()).join()).toBe("hi");
  });

  it.each([
    ["a frame before the greeting", () => encodeFrame(FromGuest.pong, 1), false],
    [
      "a greeting of another version",
      () => encodeFrame(FromGuest.hello, 0, Buffer.concat([Buffer.from("SKRY"), u32(9, 1)])),
      false,
    ],
    ["a second greeting", () => HELLO, true],
    [
      "a frame for a channel that never was",
      () => encodeFrame(FromGuest.started, 999, Buffer.alloc(5)),
      true,
    ],
    ["a connection without a listener", () => encodeFrame(FromGuest.accepted, 0x80000001, u32(5)), true],
    ["garbage", () => Buffer.alloc(100, 0xff), true],
  ])("ends the sandbox on %s", async (_, bytes, greet) => {
    const { connection, fromGuest } = connect(greet);
    fromGuest.write(bytes());
    expect(await connection.closed).toMatchObject({ code: "WIRE_VIOLATION" });
    expect(() => connection.run({ argv: ["true"] })).toThrow(
      expect.objectContaining({ code: "WIRE_VIOLATION" }),
    );
  });

  it("ends a guest that sends more output than it was given room for", async () => {
    const { connection, fromGuest, sent } = connect();
    const handle = connection.run({ argv: ["yes"] });
    await sleep(1);
    const id = sent()[0]!.id;
    const chunk = encodeFrame(FromGuest.stdout, id, Buffer.alloc(128 * 1024));
    for (let bytes = 0; bytes <= OUTPUT_WINDOW_BYTES; bytes += 128 * 1024) fromGuest.write(chunk);
    expect(await connection.closed).toMatchObject({ code: "WIRE_VIOLATION" });
    await expect(handle.exit).rejects.toMatchObject({ code: "WIRE_VIOLATION" });
    expect(handle.stdout.readableLength).toBeLessThanOrEqual(OUTPUT_WINDOW_BYTES);
  });

  it("sends no more input than the guest has room for", async () => {
    const { connection, sent } = connect();
    const handle = connection.run({ argv: ["cat"] });
    handle.stdin.write(Buffer.alloc(2_000_000));
    await sleep(5);
    const bytes = sent()
      .filter(({ type }) => type === ToGuest.data)
      .reduce((sum, { payload }) => sum + payload.length, 0);
    expect(bytes).toBe(256 * 1024);
  });

  it("fails everything that waits when the guest goes away", async () => {
    const { connection, fromGuest } = connect();
    const handle = connection.run({ argv: ["sleep"] });
    const ping = connection.ping();
    const file = connection.readFile("/x").toArray();
    const port = connection.connect(80);
    fromGuest.end();
    for (const waiting of [handle.started, handle.exit, ping, file, port]) {
      await expect(waiting).rejects.toMatchObject({ code: "SANDBOX_LOST" });
    }
    expect(await connection.closed).toMatchObject({ code: "SANDBOX_LOST" });
  });

  it("survives any sequence of frames without a crash, a hang or growth", async () => {
    const frame = fc
      .constantFrom(...GUEST_PAYLOAD_LIMITS.entries())
      .chain(([type, limit]) =>
        fc.tuple(
          fc.constant(type),
          fc.oneof(fc.integer({ min: 0, max: 6 }), fc.constantFrom(0x80000000, 0x80000001, 0xffffffff)),
          fc.oneof(
            fc.uint8Array({ maxLength: Math.min(limit, 64) }),
            fc.uint8Array({ minLength: Math.min(limit, 5), maxLength: Math.min(limit, 24) }),
          ),
        ),
      );
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 40 }), async (sequence) => {
        const { connection, fromGuest } = connect();
        const handle = connection.run({ argv: ["x"] });
        handle.stdout.resume();
        handle.stderr.resume();
        connection.warm({ argv: ["y"], kind: "fork" });
        connection
          .readFile("/f")
          .on("error", () => undefined)
          .resume();
        connection.connect(1).catch(() => undefined);
        connection.listen(2, (stream) => stream.on("error", () => undefined).resume()).catch(() => undefined);
        for (const [type, id, payload] of sequence) fromGuest.write(encodeFrame(type, id, payload));
        await sleep(0);
        connection.close();
        await connection.closed;
      }),
      { numRuns: 400 },
    );
  });
});

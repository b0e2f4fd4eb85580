import { PassThrough } from "node:stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { openStreams } from "./attach.js";

function frame(stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

async function collect(pieces: readonly Buffer[]) {
  const connection = new PassThrough();
  const { fromGuest, complaints } = openStreams(connection);
  const chunks: Buffer[] = [];
  const done = new Promise<Error | undefined>((resolve) => {
    fromGuest.on("data", (chunk: Buffer) => chunks.push(chunk));
    fromGuest.once("end", () => resolve(undefined)).once("error", resolve);
  });
  for (const piece of pieces) connection.write(piece);
  connection.end();
  const error = await done;
  return { output: Buffer.concat(chunks), complaints: complaints(), error };
}

it("takes standard output out of the frames, however they are cut", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 200 })), { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 20 }),
      async (frames, cuts) => {
        const whole = Buffer.concat(frames.map(([stream, bytes]) => frame(stream, Buffer.from(bytes))));
        const pieces: Buffer[] = [];
        for (let at = 0, turn = 0; at < whole.length; turn++) {
          const length = cuts[turn % cuts.length]!;
          pieces.push(whole.subarray(at, at + length));
          at += length;
        }
        const wanted = frames.filter(([stream]) => stream === 1).map(([, bytes]) => Buffer.from(bytes));
        const { output, error } = await collect(pieces);
        expect([output.equals(Buffer.concat(wanted)), error]).toEqual([true, undefined]);
      },
    ),
  );
});

it("keeps the last of what the guest complained, and no more", async () => {
  const { complaints } = await collect([
    frame(2, Buffer.alloc(100_000, "a")),
    frame(2, Buffer.from("the end\n")),
  ]);
  expect(complaints).toBe(`${"a".repeat(4096 - "the end\n".length)}the end`);
});

it("fails for a frame of an unknown kind", async () => {
  const { error } = await collect([frame(9, Buffer.from("x"))]);
  expect(error).toMatchObject({ code: "WIRE_VIOLATION" });
});

it("reads no further than it has room while its reader takes nothing", async () => {
  const connection = new PassThrough({ highWaterMark: 16 * 1024 });
  openStreams(connection);
  const piece = frame(1, Buffer.alloc(64 * 1024));
  let taken = 0;
  while (taken < 64 && connection.write(piece)) {
    taken++;
    await new Promise(setImmediate);
  }
  for (; taken < 64; taken++) {
    connection.write(piece);
    await new Promise(setImmediate);
  }
  expect(connection.writableLength + connection.readableLength).toBeGreaterThan(3_000_000);
  connection.destroy();
});

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { SandboxError } from "../../kit/errors.js";
import { FrameDecoder } from "./decoder.js";
import { encodeFrame, FromGuest, GUEST_PAYLOAD_LIMITS, MAX_PAYLOAD_BYTES } from "./frames.js";

interface Seen {
  readonly type: number;
  readonly id: number;
  readonly payload: Buffer;
}

/** Feeds the bytes in pieces; output of one frame is put together again. */
function decode(bytes: Buffer, cuts: readonly number[]): { frames: Seen[]; error: unknown } {
  const frames: Seen[] = [];
  const open = new Map<string, Buffer[]>();
  const decoder = new FrameDecoder({
    data: (type, id, part) =>
      open.set(`${type}/${id}`, [...(open.get(`${type}/${id}`) ?? []), Buffer.from(part)]),
    control: (type, id, payload) => frames.push({ type, id, payload: Buffer.from(payload) }),
  });
  const edges = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  try {
    for (let index = 1; index < edges.length; index++)
      decoder.push(bytes.subarray(edges[index - 1], edges[index]));
  } catch (error) {
    return { frames, error };
  }
  for (const [key, parts] of open) {
    const [type, id] = key.split("/").map(Number) as [number, number];
    frames.push({ type, id, payload: Buffer.concat(parts) });
  }
  return { frames, error: undefined };
}

const knownFrame = fc
  .constantFrom(...GUEST_PAYLOAD_LIMITS.entries())
  .chain(([type, limit]) =>
    fc.tuple(fc.constant(type), fc.nat(1000), fc.uint8Array({ maxLength: Math.min(limit, 3000) })),
  );

describe("FrameDecoder", () => {
  it("finds every frame, however the bytes are cut", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(knownFrame, { selector: ([type, id]) => `${type}/${id}`, maxLength: 20 }),
        fc.array(fc.nat()),
        (sent, cuts) => {
          const bytes = Buffer.concat(sent.map(([type, id, payload]) => encodeFrame(type, id, payload)));
          const { frames, error } = decode(bytes, cuts);
          expect(error).toBeUndefined();
          const show = (type: number, id: number, payload: Uint8Array) =>
            `${type} ${id} ${Buffer.from(payload).toString("hex")}`;
          const isEmptyOutput = (type: number, payload: Uint8Array) =>
            payload.length === 0 && (type === FromGuest.stdout || type === FromGuest.stderr);
          const wanted = sent.filter(([type, , payload]) => !isEmptyOutput(type, payload));
          expect(frames.map(({ type, id, payload }) => show(type, id, payload)).sort()).toEqual(
            wanted.map(([type, id, payload]) => show(type, id, payload)).sort(),
          );
        },
      ),
      { numRuns: 300 },
    );
  });

  it("answers any bytes at all with frames or a violation, and nothing else", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 5000 }), fc.array(fc.nat(), { maxLength: 5 }), (bytes, cuts) => {
        const { error } = decode(Buffer.from(bytes), cuts);
        if (error === undefined) return;
        expect(error).toBeInstanceOf(SandboxError);
        expect((error as SandboxError).code).toBe("WIRE_VIOLATION");
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    ["an unknown type", encodeFrame(0x42, 1)],
    ["a type of the host's", encodeFrame(0x01, 1)],
    ["an exit that is too long", encodeFrame(FromGuest.exit, 1, new Uint8Array(25))],
    ["a type beyond a byte", Buffer.from("000000000100000083000001", "hex")],
  ])("refuses %s", (_, bytes) => {
    expect(decode(bytes, []).error).toMatchObject({ code: "WIRE_VIOLATION" });
  });

  it("refuses a length beyond the limit before any of the payload has arrived", () => {
    const header = encodeFrame(FromGuest.stdout, 1).subarray(0, 12);
    header.writeUInt32LE(MAX_PAYLOAD_BYTES + 1, 0);
    expect(decode(header, []).error).toMatchObject({ code: "WIRE_VIOLATION" });
  });
});

import { Duplex, PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { waitUntil } from "../../../../kit/wait-until.js";
import { encodeFrame } from "../../../../runtime/sandbox/contexts/messages.js";
import { Relay, type RelaySide } from "./relay.js";

/** One process's socket: what it says is written to `inside`, what it is told is read there. */
class Inside {
  readonly said = new PassThrough();
  readonly told = new PassThrough({ writableHighWaterMark: 1024 });
  readonly stream = Duplex.from({ readable: this.said, writable: this.told });

  say(...frames: string[]): void {
    for (const frame of frames) this.said.write(encodeFrame(Buffer.from(frame)));
  }

  heard(): string {
    return String(this.told.read() ?? "");
  }
}

function stage(maxTotalBytes?: number) {
  const solution = new Inside();
  const tests = new Inside();
  const messages: [RelaySide, unknown][] = [];
  const violations: [RelaySide, string][] = [];
  const relay = new Relay({
    onMessage: (from, message) => messages.push([from, message]),
    onViolation: (from, what) => violations.push([from, what]),
    ...(maxTotalBytes !== undefined && { maxTotalBytes }),
  });
  return { solution, tests, messages, violations, relay };
}

describe("the relay between a solution and its tests", () => {
  it("hands on what is for the other side as it is, and tells the host the rest", async () => {
    const { solution, tests, messages, violations, relay } = stage();
    relay.attach("tests", tests.stream);
    tests.say('R["q",0]', 'J{"type":"found"}');
    relay.attach("solution", solution.stream);
    solution.say('R["a",0]', 'J{"type":"loaded"}');
    await waitUntil(
      () => messages.length === 2 && tests.told.readableLength > 0 && solution.told.readableLength > 0,
    );
    expect(solution.heard().slice(4)).toBe('R["q",0]');
    expect(tests.heard().slice(4)).toBe('R["a",0]');
    expect(messages.toSorted()).toEqual([
      ["solution", { type: "loaded" }],
      ["tests", { type: "found" }],
    ]);
    expect(violations).toEqual([]);
  });

  it.each<[string, (said: PassThrough) => void, string]>([
    [
      "an answer before any question",
      (said) => said.write(encodeFrame(Buffer.from("R[]"))),
      "something that is no message",
    ],
    [
      "a frame of another kind",
      (said) => said.write(encodeFrame(Buffer.from("X{}"))),
      "something that is no message",
    ],
    [
      "a message that is no JSON",
      (said) => said.write(encodeFrame(Buffer.from("J{"))),
      "something that is no message",
    ],
    ["an empty frame", (said) => said.write(Buffer.alloc(4)), "something that is no message"],
    ["a frame of 4 GB", (said) => said.write(Buffer.alloc(4, 255)), "a message of 4294967295 bytes"],
  ])("ends with a solution that sends %s", async (_, send, what) => {
    const { solution, violations, relay } = stage();
    relay.attach("solution", solution.stream);
    send(solution.said);
    await waitUntil(() => violations.length > 0);
    expect(violations).toEqual([["solution", what]]);
  });

  it("counts, and ends the side that sends too much in all", async () => {
    const { solution, tests, violations, relay } = stage(1000);
    relay.attach("solution", solution.stream);
    relay.attach("tests", tests.stream);
    for (let count = 0; count < 11; count++) solution.say(`R${"x".repeat(99)}`);
    await waitUntil(() => violations.length > 0);
    expect(violations).toEqual([["solution", "more than 1000 bytes in all"]]);
  });

  it("holds one side back while the other does not read", async () => {
    const { solution, tests, relay } = stage();
    relay.attach("solution", solution.stream);
    relay.attach("tests", tests.stream);
    let taken = 0;
    const chunk = encodeFrame(Buffer.from(`R${"x".repeat(16 * 1024)}`));
    const write = () => {
      while (taken < 1000) {
        taken++;
        if (!solution.said.write(chunk)) return void solution.said.once("drain", write);
      }
    };
    write();
    await waitUntil(() => solution.stream.isPaused());
    const held = taken;
    expect(held).toBeLessThan(50);
    tests.told.resume();
    await waitUntil(() => taken === 1000);
  });
});

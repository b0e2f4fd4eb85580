import { Writable } from "node:stream";
import { expect, it } from "vitest";
import { Output } from "./output.js";

/** A stream that takes one chunk and holds it until told to go on. */
function slowReader() {
  const received: string[] = [];
  let release: ((error?: Error) => void) | undefined;
  const stream = new Writable({
    highWaterMark: 4,
    write(chunk: Buffer, _, done) {
      received.push(chunk.toString());
      release = done;
    },
  });
  return { stream, received, go: (error?: Error) => release?.(error) };
}

it("waits for a reader that is slow", async () => {
  const { stream, received, go } = slowReader();
  const output = new Output(() => stream);
  let done = false;
  const writing = output.write("12345678").then(() => {
    done = true;
  });
  await new Promise(setImmediate);
  expect([received, done]).toEqual([["12345678"], false]);
  go();
  await writing;
  expect(done).toBe(true);
});

it("stops waiting when it is told to", async () => {
  const { stream } = slowReader();
  const controller = new AbortController();
  const writing = new Output(() => stream).write("12345678", controller.signal);
  controller.abort();
  await writing;
});

it("falls silent when the reader is gone, and says so once", async () => {
  const { stream, received, go } = slowReader();
  const output = new Output(() => stream);
  let told = 0;
  output.onGone(() => told++);
  const writing = output.write("12345678");
  go(Object.assign(new Error("broken pipe"), { code: "EPIPE" }));
  await writing;
  await output.write("more");
  await output.flush();
  expect([received, told, output.closed]).toEqual([["12345678"], 1, true]);
});

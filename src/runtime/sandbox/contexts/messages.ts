import type { Duplex } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";
import type { ContextLanguage } from "../languages/language.js";

/** The longest message. Results have a budget below this; a longer one is not from our interpreter. */
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;
const HEAD_BYTES = 4;
/** Values take far more memory and time than the text that they are written in. An interpreter of ours shows no more. */
const MAX_VALUES = 100_000;

/** A message as it goes over a context's control socket: its length, and JSON. */
export function encodeMessage(message: object): Buffer {
  return encodeFrame(Buffer.from(JSON.stringify(message)));
}

/** An order to run code, as the language's runner reads it. */
export async function encodeRun(
  language: ContextLanguage,
  run: number,
  code: string,
  options: { readonly stdin: string | undefined; readonly resultBytes: number },
): Promise<Buffer> {
  if (language.encodeRun !== undefined) return Buffer.from(language.encodeRun(run, code));
  return encodeMessage({ op: "run", run, code: (await language.rewrite?.(code)) ?? code, ...options });
}

/** Bytes with their length before them. */
export function encodeFrame(content: Buffer): Buffer {
  const head = Buffer.allocUnsafe(HEAD_BYTES);
  head.writeUInt32LE(content.length);
  return Buffer.concat([head, content]);
}

/** Yields each message of the stream; an invalid one ends it with an error. All of it comes from hostile code. */
export function readMessages(
  stream: Duplex,
  onMessage: (message: unknown, bytes: number) => void,
  onEnd: (error?: SandboxError) => void,
): void {
  readFrames(
    stream,
    MAX_MESSAGE_BYTES,
    (frame) => {
      assertFewValues(frame);
      onMessage(JSON.parse(frame.toString("utf8")), frame.length);
    },
    (problem) => {
      if (problem === undefined) onEnd();
      else onEnd(problem instanceof SandboxError ? problem : broken(problem));
    },
  );
}

/**
 * Hands on the content of each frame of the stream, and no more than `maxBytes` at once. `onEnd` is called once: with what
 * `onFrame` threw, where that was a SandboxError, or with words for what came instead of a frame.
 */
export function readFrames(
  stream: Duplex,
  maxBytes: number,
  onFrame: (frame: Buffer) => void,
  onEnd: (problem?: SandboxError | string) => void,
): void {
  let parts: Buffer[] = [];
  let held = 0;
  let ended = false;
  const end = (problem?: SandboxError | string) => {
    if (ended) return;
    ended = true;
    parts = [];
    onEnd(problem);
  };
  const take = () => {
    while (!ended && held >= HEAD_BYTES) {
      const bytes = parts.length === 1 ? parts[0]! : Buffer.concat(parts);
      parts = [bytes];
      const length = bytes.readUInt32LE(0);
      if (length > maxBytes) return end(`a message of ${length} bytes`);
      if (held < HEAD_BYTES + length) return;
      const rest = bytes.subarray(HEAD_BYTES + length);
      parts = rest.length === 0 ? [] : [rest];
      held = rest.length;
      try {
        onFrame(bytes.subarray(HEAD_BYTES, HEAD_BYTES + length));
      } catch (error) {
        end(error instanceof SandboxError ? error : "something that is no message");
      }
    }
  };
  stream.on("data", (chunk: Buffer) => {
    if (ended) return;
    parts.push(chunk);
    held += chunk.length;
    // Joined only when a whole message may be there: a large one comes in many chunks.
    if (parts.length === 1 || held >= neededBytes(parts)) take();
  });
  stream.once("end", () => end());
  stream.once("error", () => end());
  stream.once("close", () => end());
}

/** Throws where JSON has very many values: each has one of these before it, except in text. */
function assertFewValues(frame: Buffer): void {
  if (frame.length < MAX_VALUES) return;
  let count = 0;
  for (let at = 0; at < frame.length; at++) {
    const byte = frame[at];
    if (byte === 0x22) at = endOfText(frame, at);
    else if ((byte === 0x2c || byte === 0x5b || byte === 0x7b) && ++count > MAX_VALUES)
      throw broken("very many values at once");
  }
}

/** Where the text ends whose first quote is at `start`. */
function endOfText(frame: Buffer, start: number): number {
  for (let at = frame.indexOf(0x22, start + 1); at !== -1; at = frame.indexOf(0x22, at + 1)) {
    let backslashes = 0;
    while (frame[at - 1 - backslashes] === 0x5c) backslashes++;
    if (backslashes % 2 === 0) return at;
  }
  return frame.length;
}

function neededBytes(parts: readonly Buffer[]): number {
  const first = parts[0]!;
  return first.length < HEAD_BYTES ? HEAD_BYTES : HEAD_BYTES + first.readUInt32LE(0);
}

/** An interpreter that does not keep to the protocol. */
export function broken(what: string): SandboxError {
  return new SandboxError("CONTEXT_ENDED", `The context's interpreter sent ${what}`, {
    hint: "The code inside may have written to its control socket. Restart the context.",
  });
}

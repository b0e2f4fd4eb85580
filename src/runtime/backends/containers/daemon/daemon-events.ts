import { addAbortSignal, type Readable } from "node:stream";
import { SandboxError } from "../../../../kit/errors.js";
import { escapeUnsafe, escapeUnsafeLines } from "../../../../kit/escape-unsafe.js";
import { explainDockerFailure } from "./explain-failure.js";

/** What the daemon tells while it pulls, builds or imports. Made harmless for a terminal. */
export interface DaemonEvent {
  readonly status?: string;
  readonly id?: string;
  readonly progress?: string;
  /** May have several lines. */
  readonly stream?: string;
}

/** A line of the daemon that is longer is no event. */
const LONGEST = 1 << 20;

/** A build's standard error is red. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: colours are control characters
const COLOURS = /\x1b\[\d*m/g;

/** Reads a stream of events to its end. Throws the first failure that is in it. */
export async function* daemonEvents(
  stream: NodeJS.ReadableStream,
  signal: AbortSignal,
): AsyncGenerator<DaemonEvent> {
  for await (const line of daemonLines(stream, signal)) yield readEvent(line);
}

/** The objects of a stream that has one in every line. */
export async function* daemonLines(
  stream: NodeJS.ReadableStream,
  signal: AbortSignal,
): AsyncGenerator<Readonly<Record<string, unknown>>> {
  let rest = "";
  const input = addAbortSignal(signal, stream as Readable).setEncoding("utf8");
  for await (const chunk of input as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    if (rest.length > LONGEST) throw new SandboxError("BACKEND_UNAVAILABLE", "this is not a Docker daemon");
    for (const line of lines) if (line.trim() !== "") yield JSON.parse(line);
  }
  if (rest.trim() !== "") yield JSON.parse(rest);
}

function readEvent(event: Readonly<Record<string, unknown>>): DaemonEvent {
  if (typeof event.error === "string") throw failureOf(event.error);
  const texts = ["status", "id", "progress", "stream"].flatMap((key) => {
    const value = event[key];
    return typeof value === "string" ? [[key, escapeUnsafeLines(value.replace(COLOURS, ""))]] : [];
  });
  return Object.fromEntries(texts) as DaemonEvent;
}

function failureOf(message: string): SandboxError {
  const explained = explainDockerFailure(new Error(message));
  if (explained.code !== "SANDBOX_START_FAILED") return explained;
  return new SandboxError("EXECUTION_FAILED", escapeUnsafe(message.replace(/\s*\n\s*/g, " ")).slice(0, 500));
}

import { addAbortSignal, type Readable } from "node:stream";
import { SandboxError } from "../../errors.js";
import { visible, visibleLines } from "../../visible.js";
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
  let rest = "";
  const input = addAbortSignal(signal, stream as Readable).setEncoding("utf8");
  for await (const chunk of input as AsyncIterable<string>) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop()!;
    if (rest.length > LONGEST) throw new SandboxError("BACKEND_UNAVAILABLE", "this is no Docker daemon");
    for (const line of lines) if (line.trim() !== "") yield parseEvent(line);
  }
  if (rest.trim() !== "") yield parseEvent(rest);
}

function parseEvent(line: string): DaemonEvent {
  const event = JSON.parse(line) as Record<string, unknown>;
  if (typeof event.error === "string") throw failureOf(event.error);
  const texts = ["status", "id", "progress", "stream"].flatMap((key) => {
    const value = event[key];
    return typeof value === "string" ? [[key, visibleLines(value.replace(COLOURS, ""))]] : [];
  });
  return Object.fromEntries(texts) as DaemonEvent;
}

function failureOf(message: string): SandboxError {
  const explained = explainDockerFailure(new Error(message));
  if (explained.code !== "SANDBOX_START_FAILED") return explained;
  return new SandboxError("EXECUTION_FAILED", visible(message.replace(/\s*\n\s*/g, " ")).slice(0, 500));
}

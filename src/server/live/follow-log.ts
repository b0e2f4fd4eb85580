import type { EventStream } from "../http/event-stream.js";
import type { ServerProcess } from "./server-process.js";

/** What is read of a log at once. */
const PAGE_BYTES = 64 * 1024;

/**
 * Sends what a process prints, from a position on, until it has ended. The id of each event is the position after it: who comes
 * back with that goes on there. Who reads so slowly that something is gone by then is told how much.
 */
export async function followLog(
  { log }: ServerProcess,
  position: number,
  stream: EventStream,
  signal: AbortSignal,
): Promise<void> {
  for (let at = position; ; ) {
    const { pieces, next, dropped, ended } = log.read(at, PAGE_BYTES);
    if (dropped > 0) await stream.send("dropped", { bytes: dropped }, at + dropped);
    for (const { stream: output, text, end } of pieces) await stream.send(output, { text }, end);
    if (ended) return;
    at = next;
    await log.waitBeyond(at, signal);
    signal.throwIfAborted();
  }
}

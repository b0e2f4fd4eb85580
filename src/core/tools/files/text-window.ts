import type { Readable } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";

/** So much of a file is looked at for a line; a file may have any size. */
const SCANNED_BYTES = 256 * 1024 * 1024;
const PROBE_BYTES = 8192;

/** Lines of a file, and where they stand in it. */
export interface TextWindow {
  readonly text: string;
  /** The first and last line, from 1; 0 and 0 where there is none. */
  readonly firstLine: number;
  readonly lastLine: number;
  /** False: the file goes on. */
  readonly isEnd: boolean;
}

/** True when the bytes are no text: a NUL, or what is not UTF-8. */
export function isBinary(start: Uint8Array): boolean {
  const probe = start.subarray(0, PROBE_BYTES);
  if (probe.includes(0)) return true;
  try {
    // The last character may be cut.
    new TextDecoder("utf-8", { fatal: true }).decode(probe, { stream: true });
    return false;
  } catch {
    return true;
  }
}

/** The lines of a stream from one of them on, up to so many lines and bytes; the rest is not read. */
export async function readWindow(
  stream: Readable,
  {
    firstLine,
    maxLines,
    maxBytes,
  }: { readonly firstLine: number; readonly maxLines: number; readonly maxBytes: number },
): Promise<TextWindow | "binary"> {
  const parts: Buffer[] = [];
  let [line, kept, lines, scanned] = [1, 0, 0, 0];
  let isFirst = true;
  let isEnd = true;
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      if (isFirst && isBinary(chunk)) return "binary";
      isFirst = false;
      scanned += chunk.length;
      if (line < firstLine && scanned > SCANNED_BYTES) throw tooFar(firstLine);
      let at = 0;
      while (at < chunk.length && line < firstLine) {
        const newline = chunk.indexOf(10, at);
        at = newline === -1 ? chunk.length : newline + 1;
        if (newline !== -1) line++;
      }
      while (at < chunk.length && lines < maxLines && kept < maxBytes) {
        const newline = chunk.indexOf(10, at);
        const end = Math.min(newline === -1 ? chunk.length : newline + 1, at + maxBytes - kept);
        parts.push(chunk.subarray(at, end));
        kept += end - at;
        at = end;
        if (newline !== -1 && end === newline + 1) lines++;
      }
      if (at < chunk.length) {
        isEnd = false;
        break;
      }
    }
  } finally {
    stream.destroy();
  }
  const bytes = Buffer.concat(parts);
  const text = bytes.toString("utf8");
  const shown = countLines(text);
  return {
    text,
    firstLine: shown === 0 ? 0 : firstLine,
    lastLine: shown === 0 ? 0 : firstLine + shown - 1,
    isEnd,
  };
}

/** How many lines a text has; one without a newline at its end counts, too. */
function countLines(text: string): number {
  if (text === "") return 0;
  return text.split("\n").length - (text.endsWith("\n") ? 1 : 0);
}

function tooFar(line: number): SandboxError {
  return new SandboxError(
    "FILE_TOO_LARGE",
    `Line ${line} is more than ${SCANNED_BYTES} bytes into the file`,
    {
      hint: "Find it with shell_exec: sed, grep, tail.",
    },
  );
}

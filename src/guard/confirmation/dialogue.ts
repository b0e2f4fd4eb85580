import { closeSync, constants, openSync, readSync } from "node:fs";
import { createInterface, type Interface } from "node:readline";
import type { Readable, Writable } from "node:stream";
import { ReadStream, WriteStream } from "node:tty";

const TERMINAL = "/dev/tty";

/** Streams to ask on. */
export interface DialogueStreams {
  readonly input: Readable & { readonly isTTY?: boolean; readonly fd?: number };
  readonly output: Writable & { readonly isTTY?: boolean; readonly columns?: number };
}

/** A person at the other end of two streams. */
export interface Dialogue {
  readonly isTerminal: boolean;
  readonly columns: number;
  /** Resolves when there is room for more, or the reader is gone. */
  write(text: string): Promise<void>;
  /** Drops what was typed before it was asked for. */
  discardTyped(): void;
  /** The next line; undefined at Ctrl-C, at the end of input, or when the signal aborts. */
  ask(question: string): Promise<string | undefined>;
  /** True once Ctrl-C was typed at a question. */
  wasInterrupted(): boolean;
  close(): void;
}

/** The terminal that this process was started from; undefined when there is none. */
export function openTerminalDialogue(signal: AbortSignal): Dialogue | undefined {
  let input: ReadStream | undefined;
  try {
    input = new ReadStream(openSync(TERMINAL, constants.O_RDWR | constants.O_NOCTTY));
    const output = new WriteStream(openSync(TERMINAL, constants.O_RDWR | constants.O_NOCTTY));
    const dialogue = createDialogue({ input, output }, signal);
    return {
      ...dialogue,
      discardTyped: () => discardTyped(input!),
      close() {
        dialogue.close();
        if (!input!.destroyed) input!.setRawMode(false);
        input!.destroy();
        output.destroy();
      },
    };
  } catch {
    input?.destroy();
    return undefined;
  }
}

/** Lends what a program needs as its standard streams to talk to the same person. */
export async function withTerminal<T>(
  streams: DialogueStreams | undefined,
  use: (terminal: number | "inherit") => Promise<T>,
): Promise<T> {
  if (streams !== undefined) return use(streams.input.fd ?? "inherit");
  const descriptor = openSync(TERMINAL, constants.O_RDWR | constants.O_NOCTTY);
  try {
    return await use(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Asks on streams that the caller opens and closes. */
export function createDialogue({ input, output }: DialogueStreams, signal: AbortSignal): Dialogue {
  const isTerminal = input.isTTY === true && output.isTTY === true;
  const lines: string[] = [];
  let ended = input.destroyed || input.readableEnded;
  let interrupted = false;
  let wake: () => void = () => undefined;
  let reader: Interface | undefined;
  const end = () => {
    ended = true;
    wake();
  };
  // A terminal that hangs up is an error of its streams: the person is gone.
  input.on("error", end);
  output.on("error", end);
  const open = () => {
    if (reader !== undefined) return reader;
    reader = createInterface({ input, output, terminal: isTerminal, historySize: 0 });
    reader.on("line", (line) => {
      lines.push(line);
      wake();
    });
    reader.on("SIGINT", () => {
      interrupted = true;
      end();
    });
    for (const event of ["close", "error"]) reader.on(event, end);
    return reader;
  };
  return {
    isTerminal,
    // Some terminals do not know, and say 0.
    columns: Math.max(20, output.columns || 80),
    async write(text) {
      if (output.destroyed || output.write(text) || signal.aborted) return;
      await new Promise<void>((resolve) => {
        const done = () => {
          for (const event of EVENTS_OF_ROOM) output.off(event, done);
          signal.removeEventListener("abort", done);
          resolve();
        };
        for (const event of EVENTS_OF_ROOM) output.on(event, done);
        signal.addEventListener("abort", done);
      });
    },
    // Who hands streams over decides what is in them.
    discardTyped: () => undefined,
    async ask(question) {
      // Lines that came together with an earlier answer, or before the end of input, still count.
      if (lines.length === 0 && !ended) prompt(open(), question);
      const aborted = () => wake();
      signal.addEventListener("abort", aborted);
      try {
        while (lines.length === 0 && !ended && !signal.aborted) {
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        signal.removeEventListener("abort", aborted);
      }
      return signal.aborted ? undefined : lines.shift();
    },
    wasInterrupted: () => interrupted,
    close() {
      reader?.close();
      input.off("error", end);
      output.off("error", end);
    },
  };
}

function prompt(reader: Interface, question: string): void {
  reader.setPrompt(question);
  reader.prompt();
}

const EVENTS_OF_ROOM = ["drain", "error", "close"] as const;

/** Raw, so that half a line can be read as well; through a descriptor of its own that never waits. */
function discardTyped(input: ReadStream): void {
  input.setRawMode(true);
  const descriptor = openSync(TERMINAL, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
  const buffer = Buffer.alloc(4096);
  try {
    while (readSync(descriptor, buffer) > 0);
  } catch {
    // Nothing more to read.
  } finally {
    closeSync(descriptor);
  }
}

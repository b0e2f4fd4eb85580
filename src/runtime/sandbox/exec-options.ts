import type { Readable } from "node:stream";
import { SandboxError } from "../../kit/errors.js";

export interface ExecOptions {
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** A path inside; relative ones start at the workspace. */
  readonly cwd?: string | undefined;
  /** Left out: empty. */
  readonly stdin?: string | Uint8Array | Readable | undefined;
  /** Left out: the configuration's. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  /** A program that prints more is ended. Left out: the configuration's, or no limit when streaming. */
  readonly maxOutputBytes?: number | undefined;
}

export interface RunCodeOptions extends ExecOptions {
  readonly language: string;
  /** What tracebacks call it; `main` with the language's extension if left out. */
  readonly filename?: string | undefined;
  readonly args?: readonly string[] | undefined;
  /**
   * Runs it in a cell: it sees neither the workspace nor any other program of the sandbox, and leaves nothing. Only in a
   * sandbox that was made for cells.
   */
  readonly isolate?: boolean | undefined;
}

/** How long a killed command may take to be gone before the whole sandbox is. */
export const KILL_GRACE_MS = 5000;

/** What is without a time limit of its own has the longest that a timer takes: 24 days. */
export const LONGEST_TIMEOUT_MS = 2 ** 31 - 1;

/** Refuses options that make no sense before anything runs. */
export function checkExecOptions({ timeoutMs, maxOutputBytes, stdin }: ExecOptions): void {
  const isStream = typeof stdin === "object" && stdin !== null && "pipe" in stdin;
  if (stdin !== undefined && typeof stdin !== "string" && !(stdin instanceof Uint8Array) && !isStream) {
    throw new SandboxError("INVALID_ARGUMENT", "stdin takes text, bytes or a readable stream", {
      hint: "Leave it out for an empty one.",
    });
  }
  for (const [name, value] of Object.entries({ timeoutMs, maxOutputBytes })) {
    if (value === undefined) continue;
    if (!Number.isFinite(value) || value <= 0) {
      throw new SandboxError("INVALID_ARGUMENT", `${name} must be a number above zero, not ${value}`, {
        hint: "Leave it out for the configuration's own.",
      });
    }
  }
  if (timeoutMs !== undefined && timeoutMs > LONGEST_TIMEOUT_MS) {
    throw new SandboxError("INVALID_ARGUMENT", "timeoutMs must be at most 24 days", {
      hint: "Give the number in milliseconds.",
    });
  }
}

export function checkCommand(argv: readonly string[]): void {
  if (Array.isArray(argv) && argv.every((each) => typeof each === "string") && argv[0]) return;
  throw new SandboxError("INVALID_ARGUMENT", "A command is a list of texts, the program first", {
    hint: 'Pass the program and its arguments: ["ls", "-la"].',
  });
}

export function checkProgram(code: string, options: RunCodeOptions): void {
  if (typeof code === "string" && typeof Object(options).language === "string") return;
  throw new SandboxError("INVALID_ARGUMENT", "A program takes a language and its code, both as text", {
    hint: 'For example runCode("print(1)", { language: "python" }).',
  });
}

import type { Readable, Writable } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";
import type { Instance } from "../../backends/index.js";
import { LONGEST_TIMEOUT_MS } from "../exec-options.js";
import { SHELL } from "../languages/bash/language.js";
import type { CommandOutcome, ExecutionResult } from "./result.js";
import { outcomeOf } from "./run-command.js";

export interface TerminalOptions {
  readonly rows: number;
  readonly columns: number;
  /** Left out: a login shell. */
  readonly argv?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A pseudo-terminal inside. */
export interface Terminal {
  readonly output: Readable;
  readonly input: Writable;
  readonly exit: Promise<ExecutionResult>;
  resize(rows: number, columns: number): void;
  kill(): void;
}

/** A terminal's size, and what is typed into it. */
export interface TerminalInput {
  readonly rows: number;
  readonly columns: number;
  readonly input: Readable;
}

/** What a command on a terminal runs with: streamed output, and no short timeout since a person types. */
export function terminalRunOptions<Options extends { readonly env?: TerminalOptions["env"] | undefined }>(
  { input }: TerminalInput,
  options: Options & { readonly timeoutMs?: number | undefined },
) {
  const timeoutMs = options.timeoutMs ?? LONGEST_TIMEOUT_MS;
  return {
    ...options,
    env: { TERM: "xterm-256color", ...options.env },
    timeoutMs,
    stdin: input,
  };
}

export async function openTerminal(
  instance: Instance,
  options: TerminalOptions,
  toResult: (outcome: CommandOutcome) => Promise<ExecutionResult>,
): Promise<Terminal> {
  checkSize(options.rows, options.columns);
  const startedAt = performance.now();
  const handle = instance.runner.run({
    argv: options.argv ?? SHELL.terminal,
    env: { TERM: "xterm-256color", ...options.env },
    cwd: options.cwd ?? instance.guestWorkspace,
    terminal: { rows: options.rows, columns: options.columns },
  });
  await handle.started;
  handle.stderr.resume();
  const exit = handle.exit.then((ended) => toResult(outcomeOf(ended, performance.now() - startedAt)));
  // A caller that does not await it must not be ended by it.
  exit.catch(() => undefined);
  return {
    output: handle.stdout,
    input: handle.stdin,
    exit,
    resize: (rows, columns) => {
      checkSize(rows, columns);
      handle.resize(rows, columns);
    },
    kill: () => handle.kill(),
  };
}

/** Refuses a size that no terminal has. */
export function checkSize(rows: number, columns: number): void {
  for (const value of [rows, columns]) {
    if (!Number.isInteger(value) || value < 1 || value > 65_535) {
      throw new SandboxError("INVALID_ARGUMENT", "A terminal has between 1 and 65535 rows and columns", {
        hint: "For example { rows: 24, columns: 80 }.",
      });
    }
  }
}

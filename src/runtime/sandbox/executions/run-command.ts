import { constants } from "node:os";
import type { Duplex, Readable, Writable } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";
import type { Instance } from "../../backends/index.js";
import type { RunExit, RunHandle, RunRequest } from "../../wire/index.js";
import { KILL_GRACE_MS } from "../exec-options.js";
import type { ExecutionSink } from "./execution-sink.js";
import { LimitedOutput } from "./limited-output.js";
import type { CommandOutcome, Reason } from "./result.js";
import { signalName } from "./signal-name.js";

/** How long to wait for the last bytes of a control socket. */
const LAST_WORDS_MS = 1000;

/** An end of our own making: the sandbox goes with the command. */
const KILLED: RunExit = {
  exitCode: null,
  signal: constants.signals.SIGKILL,
  cpuTimeMs: 0,
  memoryKb: 0,
  clean: false,
  warm: false,
};

export interface CommandOptions {
  readonly stdin?: string | Uint8Array | Readable | undefined;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal | undefined;
  /** True: another command ran meanwhile, so a kill for memory may have been its. */
  readonly overlapped: () => boolean;
  /** Undefined: no limit where a reader takes the output as it comes. */
  readonly maxOutputBytes: number | undefined;
  /** The limit of what is kept for the result. */
  readonly maxKeptBytes: number;
  /** Called when nothing of it runs any more; its last output may still be on its way. */
  readonly ended: () => void;
  /** Takes its control socket, where the request has one; it ends with the command. */
  readonly control?: ((stream: Duplex) => void) | undefined;
}

/** Runs one command to its end. Throws only when it could not be run at all or the sandbox was lost. */
export async function runCommand(
  instance: Instance,
  request: RunRequest,
  options: CommandOptions,
  execution: ExecutionSink,
): Promise<CommandOutcome> {
  const killsBefore = await instance.memoryKills();
  const startedAt = performance.now();
  const signals = [options.signal, execution.signal].filter((each) => each !== undefined);
  if (signals.some(({ aborted }) => aborted))
    throw new SandboxError("CANCELLED", "The execution was cancelled before it started");
  const handle = instance.runner.run(request);
  const ending = new Ending(handle, options.timeoutMs, signals);
  const limited = new LimitedOutput(execution, options.maxOutputBytes, options.maxKeptBytes, () =>
    ending.end("output-limit"),
  );
  const finish = (exit: RunExit, memoryKilled: boolean): CommandOutcome => ({
    ...describe(exit, ending.reason, performance.now() - startedAt, memoryKilled),
    ...execution.printed(limited.isOver),
    truncated: limited.isOver,
  });
  let inputFailure: unknown;
  let isOver = false;
  try {
    feed(handle, options.stdin, (error) => {
      inputFailure = error;
      handle.kill();
    });
    // A hostile program can keep a command from ever starting: the clock holds for that too.
    const start = await Promise.race([handle.started, ending.overdue]);
    if ("clean" in start) return finish(start, false);
    execution.started(start.pid, {
      resize: (rows, columns) => handle.resize(rows, columns),
      signal: (number) => {
        if (!isOver) handle.signal(number);
        return !isOver;
      },
    });
    if (handle.control !== undefined) options.control?.(handle.control);
    // Only now, so that output is never reported before the start.
    const finished = Promise.all([
      consume(handle, "stdout", limited, execution),
      consume(handle, "stderr", limited, execution),
    ]);
    const exit = await Promise.race([handle.exit, ending.overdue]).catch(async (error: unknown) => {
      // The kernel may have chosen the guest itself: then it is the program's end all the same.
      const kills = await instance.memoryKills(ending.reason === undefined);
      if (ending.reason === undefined && !((kills ?? 0) > (killsBefore ?? 0))) throw error;
      return KILLED;
    });
    isOver = true;
    options.ended();
    await Promise.race([finished, ending.overdue]);
    if (handle.control !== undefined) await heardOut(handle.control);
    if (inputFailure !== undefined) {
      throw new SandboxError(
        "EXECUTION_FAILED",
        "Standard input failed before its end; the program was ended",
        {
          hint: "Its output may be of cut input. Check the stream that was passed as stdin.",
          cause: inputFailure,
        },
      );
    }
    const killsAfter = await instance.memoryKills(ending.reason === undefined && wasKilled(exit));
    const memoryKilled =
      (killsAfter ?? 0) > (killsBefore ?? 0) && (exit.signal !== null || !options.overlapped());
    return finish(exit, memoryKilled);
  } finally {
    ending.stop();
    handle.control?.destroy();
  }
}

/** Resolves when the last words over a control socket were taken: they may come after the exit. */
async function heardOut(control: Duplex): Promise<void> {
  if (control.readableEnded || control.destroyed) return;
  let timer: NodeJS.Timeout | undefined;
  await new Promise<void>((resolve) => {
    // A stream without a reader does not end.
    timer = setTimeout(resolve, LAST_WORDS_MS);
    control.once("end", resolve).once("close", resolve);
  });
  clearTimeout(timer);
}

/** Killed, but not by us; a shell that waited for a killed process gives that as its status. */
function wasKilled({ signal, exitCode }: RunExit): boolean {
  return signal === constants.signals.SIGKILL || exitCode === 128 + constants.signals.SIGKILL;
}

/** Watches the clock, the caller's signal and the output's size, and kills at most once. */
class Ending {
  reason: Reason | undefined;
  /** Resolves to an exit of our own making when the killed command does not go away. */
  readonly overdue: Promise<RunExit>;
  readonly #handle: RunHandle;
  readonly #signals: readonly AbortSignal[];
  readonly #onAbort = () => this.end("cancelled");
  #resolveOverdue!: (exit: RunExit) => void;
  #timer: NodeJS.Timeout;

  constructor(handle: RunHandle, timeoutMs: number, signals: readonly AbortSignal[]) {
    this.#handle = handle;
    this.#signals = signals;
    this.overdue = new Promise((resolve) => {
      this.#resolveOverdue = resolve;
    });
    this.#timer = setTimeout(() => this.end("timeout"), timeoutMs);
    for (const signal of signals) signal.addEventListener("abort", this.#onAbort, { once: true });
  }

  end(reason: Reason): void {
    if (this.reason !== undefined) return;
    this.reason = reason;
    this.#handle.kill();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#resolveOverdue(KILLED), KILL_GRACE_MS);
  }

  stop(): void {
    clearTimeout(this.#timer);
    for (const signal of this.#signals) signal.removeEventListener("abort", this.#onAbort);
  }
}

/** Moves one output to where it belongs; resolves when it has ended. */
function consume(
  handle: RunHandle,
  type: "stdout" | "stderr",
  limited: LimitedOutput,
  execution: ExecutionSink,
): Promise<void> {
  const output = handle[type];
  const previous = execution.onDrain;
  execution.onDrain = () => {
    previous?.();
    output.resume();
  };
  output.on("data", (data: Buffer) => {
    if (!limited.take(type, data)) output.pause();
  });
  return new Promise((resolve) => output.once("close", resolve));
}

function feed(handle: RunHandle, stdin: CommandOptions["stdin"], onFailure: (error: unknown) => void): void {
  if (stdin === undefined) handle.stdin.end();
  else if (typeof stdin === "string" || stdin instanceof Uint8Array) handle.stdin.end(stdin);
  else pour(stdin, handle.stdin, onFailure);
}

/** Passes a stream on. A program that does not read to the end is no error; the rest of the stream stays unread. */
function pour(source: Readable, target: Writable, onFailure: (error: unknown) => void): void {
  source.once("error", onFailure);
  target.once("close", () => {
    source.off("error", onFailure);
    source.unpipe(target);
    source.pause();
  });
  source.pipe(target);
}

function describe(
  exit: RunExit,
  reason: Reason | undefined,
  durationMs: number,
  memoryKilled: boolean,
): CommandOutcome {
  const outcome = outcomeOf(exit, durationMs);
  const failed = exit.signal !== null || exit.exitCode !== 0;
  return { ...outcome, reason: reason ?? (memoryKilled && failed ? "memory" : outcome.reason) };
}

/** What the exit alone says. */
export function outcomeOf(exit: RunExit, durationMs: number): CommandOutcome {
  return {
    reason: exit.signal === null ? "exited" : "signaled",
    exitCode: exit.exitCode,
    signal: exit.signal === null ? null : signalName(exit.signal),
    stdout: "",
    stderr: "",
    truncated: false,
    durationMs,
    cpuTimeMs: exit.cpuTimeMs,
    memoryKb: exit.memoryKb,
    clean: exit.clean,
    warm: exit.warm,
  };
}

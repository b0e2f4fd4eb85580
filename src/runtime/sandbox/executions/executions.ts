import type { Instance } from "../../backends/index.js";
import type { RunRequest } from "../../wire/index.js";
import type { FilesTouched, FilesWatch, TouchedFiles } from "../files/file-activity.js";
import type { NetworkUse, SandboxNetwork } from "../network/network.js";
import type { Harness } from "../programs/harness.js";
import { commandUnavailable } from "../programs/languages.js";
import type { SandboxSettings } from "../sandbox-init.js";
import type { Activity, ActivityKind } from "./activity.js";
import type { CommandStart } from "./command-start.js";
import { checkExecOptions, type ExecOptions } from "./exec-options.js";
import type { ExecutionSink } from "./execution.js";
import { createResult, type ExecutionResult } from "./result.js";
import { type CommandOutcome, runCommand } from "./run-command.js";
import { openTerminal, type Terminal, type TerminalOptions } from "./terminal.js";

export interface ExecutionsInit {
  readonly instance: Instance;
  /** The backend's name. */
  readonly type: string;
  readonly settings: SandboxSettings;
  readonly touched: TouchedFiles;
  readonly start: CommandStart;
  readonly network: SandboxNetwork;
  readonly activity: Activity;
  readonly sessionId: () => string;
  /** Throws when the sandbox has stopped. */
  readonly assertRunning: () => void;
  /** Called when something inside could not be ended. */
  readonly onUnclean: () => void;
}

/** Who sees to a command besides its caller. */
export interface ExecutionCare {
  /** Something to do while it is found out what happened to the files. Never throws. */
  readonly tidyUp?: (() => Promise<void>) | undefined;
  readonly harness?: Harness | undefined;
}

/** What runs in a sandbox: each counts while it runs, and what it does to files and the network is told in its result. */
export class Executions {
  readonly #init: ExecutionsInit;

  constructor(init: ExecutionsInit) {
    this.#init = init;
  }

  /** A command from its start to its result. */
  async execute(
    request: Omit<RunRequest, "env" | "cwd">,
    options: ExecOptions,
    execution: ExecutionSink,
    { tidyUp, harness }: ExecutionCare = {},
  ): Promise<ExecutionResult> {
    checkExecOptions(options);
    const { instance, settings, start } = this.#init;
    const stream = options.stream ?? false;
    return this.count(
      options.timeoutMs,
      (watch) =>
        runCommand(
          instance,
          { ...request, env: { ...start.environment, ...options.env }, cwd: start.directory(options.cwd) },
          {
            stdin: options.stdin,
            timeoutMs: options.timeoutMs ?? settings.timeoutMs,
            signal: options.signal,
            stream,
            overlapped: () => watch.overlapped,
            maxOutputBytes: options.maxOutputBytes ?? (stream ? undefined : settings.maxOutputBytes),
            ended: watch.ended,
            ...(harness !== undefined && { control: (stream) => harness.control(stream) }),
          },
          execution,
        ),
      tidyUp,
      request.terminal === undefined ? "execution" : "terminal",
    );
  }

  /** Something that runs inside, as an execution. */
  async count(
    timeoutMs: number | undefined,
    run: (watch: FilesWatch) => Promise<CommandOutcome>,
    /** Something to do while it is found out what happened to the files. Never throws. */
    tidyUp?: () => Promise<void>,
    kind: ActivityKind = "execution",
  ): Promise<ExecutionResult> {
    const { instance, touched, network, activity, assertRunning } = this.#init;
    assertRunning();
    const over = activity.begin(kind);
    const { watch, ready } = touched.begin({ reads: true });
    let used: (() => NetworkUse | undefined) | undefined;
    try {
      await ready;
      used = network.measure();
      const outcome = await run(watch);
      const [seen] = await Promise.all([watch.seen(), tidyUp?.()]);
      return this.#result(outcome, seen, used(), timeoutMs);
    } catch (error) {
      throw commandUnavailable(error, instance.imageOf?.());
    } finally {
      used?.();
      watch.over();
      over();
    }
  }

  /** A real terminal inside, with a shell unless another command is given. */
  async terminal(options: TerminalOptions): Promise<Terminal> {
    const { instance, touched, start, network, activity, assertRunning } = this.#init;
    assertRunning();
    const cwd = start.directory(options.cwd);
    const over = activity.begin("terminal");
    const { watch, ready } = touched.begin({ reads: false });
    const used = network.measure();
    const ended = () => {
      used();
      watch.over();
      over();
    };
    try {
      await ready;
      const env = { ...start.environment, ...options.env };
      const terminal = await openTerminal(instance, { ...options, env, cwd }, async (outcome) =>
        this.#result(outcome, await watch.seen(), used()),
      );
      terminal.exit.then(ended, ended);
      return terminal;
    } catch (error) {
      ended();
      throw error;
    }
  }

  #result(
    outcome: CommandOutcome,
    changes: FilesTouched,
    network: NetworkUse | undefined,
    timeoutMs = this.#init.settings.timeoutMs,
  ): ExecutionResult {
    const { instance, type, sessionId, onUnclean } = this.#init;
    if (!outcome.clean) onUnclean();
    return createResult(outcome, {
      sandboxType: type,
      sandboxId: instance.id,
      sessionId: sessionId(),
      fileChanges: changes.changes,
      ...(changes.read !== undefined && { filesRead: changes.read }),
      ...(changes.readTruncated === true && { filesReadTruncated: true }),
      ...(changes.truncated === true && { filesWrittenTruncated: true }),
      ...(network !== undefined && { network }),
      timeoutMs,
    });
  }
}

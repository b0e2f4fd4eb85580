import type { Instance } from "../../backends/index.js";
import type { RunRequest } from "../../wire/index.js";
import type { Activity, ActivityKind } from "../activity.js";
import { checkExecOptions, type ExecOptions } from "../exec-options.js";
import type { FilesTouched, FilesWatch, TouchedFiles } from "../files/file-activity.js";
import { commandUnavailable } from "../languages/registry.js";
import type { NetworkUse, SandboxNetwork } from "../network/network.js";
import type { CommandStart } from "../programs/command-start.js";
import type { Harness } from "../programs/harness.js";
import type { SandboxSettings } from "../sandbox-init.js";
import type { ExecutionSink } from "./execution-sink.js";
import { type CommandOutcome, createResult, type ExecutionResult } from "./result.js";
import { runCommand } from "./run-command.js";
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

/** What else takes part in an execution. */
export interface ExecutionCare {
  /** Something to do while it is found out what happened to the files. Never throws. */
  readonly tidyUp?: (() => Promise<void>) | undefined;
  readonly harness?: Harness | undefined;
}

/** Something that runs inside, from before it starts until its result is out. */
export interface TrackedExecution {
  readonly watch: FilesWatch;
  /** The result of what has ended: with what it did to files and the network. */
  report(
    outcome: CommandOutcome,
    options?: { readonly timeoutMs?: number | undefined } & Pick<ExecutionCare, "tidyUp">,
  ): Promise<ExecutionResult>;
  /** Called once, whatever the outcome. */
  end(): void;
}

/** What runs in a sandbox: each is tracked while it runs, and what it does to files and the network is in its result. */
export class Executions {
  constructor(private readonly init: ExecutionsInit) {}

  /** A command from its start to its result. */
  async execute(
    request: Omit<RunRequest, "env" | "cwd">,
    options: ExecOptions,
    execution: ExecutionSink,
    { tidyUp, harness }: ExecutionCare = {},
  ): Promise<ExecutionResult> {
    checkExecOptions(options);
    const { instance, settings, start } = this.init;
    const { timeoutMs } = options;
    const tracked = await this.track(request.terminal === undefined ? "execution" : "terminal");
    const { watch } = tracked;
    try {
      const outcome = await runCommand(
        instance,
        { ...request, env: { ...start.environment, ...options.env }, cwd: start.directory(options.cwd) },
        {
          stdin: options.stdin,
          timeoutMs: timeoutMs ?? settings.timeoutMs,
          signal: options.signal,
          overlapped: () => watch.overlapped,
          maxOutputBytes: options.maxOutputBytes,
          maxKeptBytes: settings.maxOutputBytes,
          ended: watch.ended,
          ...(harness !== undefined && { control: (channel) => harness.control(channel) }),
        },
        execution,
      );
      return await tracked.report(outcome, { timeoutMs, tidyUp });
    } catch (error) {
      throw commandUnavailable(error, instance.imageOf?.());
    } finally {
      tracked.end();
    }
  }

  /** Counts as activity from the call on; resolves when it may run. */
  async track(kind: ActivityKind = "execution", { reads = true } = {}): Promise<TrackedExecution> {
    const { touched, network, activity, assertRunning } = this.init;
    assertRunning();
    const over = activity.begin(kind);
    const { watch, ready } = touched.begin({ reads });
    const used = await ready.then(
      () => network.measure(),
      (error: unknown) => {
        watch.over();
        over();
        throw error;
      },
    );
    return {
      watch,
      report: async (outcome, { timeoutMs, tidyUp } = {}) => {
        const [seen] = await Promise.all([watch.seen(), tidyUp?.()]);
        return this.#result(outcome, seen, used(), timeoutMs);
      },
      end: () => {
        used();
        watch.over();
        over();
      },
    };
  }

  /** A real terminal inside, with a shell unless another command is given. */
  async terminal(options: TerminalOptions): Promise<Terminal> {
    const { instance, start, assertRunning } = this.init;
    assertRunning();
    const cwd = start.directory(options.cwd);
    const tracked = await this.track("terminal", { reads: false });
    try {
      const env = { ...start.environment, ...options.env };
      const terminal = await openTerminal(instance, { ...options, env, cwd }, (outcome) =>
        tracked.report(outcome),
      );
      terminal.exit.then(tracked.end, tracked.end);
      return terminal;
    } catch (error) {
      tracked.end();
      throw error;
    }
  }

  #result(
    outcome: CommandOutcome,
    changes: FilesTouched,
    network: NetworkUse | undefined,
    timeoutMs = this.init.settings.timeoutMs,
  ): ExecutionResult {
    const { instance, type, sessionId, onUnclean, settings } = this.init;
    const { limitsNotEnforced } = settings;
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
      ...(limitsNotEnforced !== undefined && { limitsNotEnforced }),
      timeoutMs,
    });
  }
}

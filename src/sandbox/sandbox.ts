import type { Instance, ResourceUsage, Violation } from "../backends/backend.js";
import { SandboxError, toSandboxError } from "../errors.js";
import type { RunRequest } from "../wire/runner.js";
import type { WorkspaceFiles } from "../workspace/index.js";
import type { FileChange } from "./change-log.js";
import { CommandStart } from "./command-start.js";
import {
  checkCommand,
  checkExecOptions,
  checkProgram,
  type ExecOptions,
  type RunCodeOptions,
} from "./exec-options.js";
import { Execution, type ExecutionSink } from "./execution.js";
import { SandboxFiles } from "./files.js";
import { type FilesTouched, TouchedFiles } from "./files-touched.js";
import type { SyncReport } from "./inside/sync-workspace.js";
import { commandUnavailable, findLanguage } from "./languages.js";
import { type NetworkUse, SandboxNetwork } from "./network.js";
import { ProgramRunner } from "./program-runner.js";
import { createResult, type ExecutionResult } from "./result.js";
import { type CommandOutcome, runCommand } from "./run-command.js";
import type { ReadLog, SandboxInit, SandboxSettings } from "./sandbox-init.js";
import type { SessionSync } from "./session-sync.js";
import {
  openTerminal,
  seatedOptions,
  type Terminal,
  type TerminalOptions,
  type TerminalSeat,
} from "./terminal.js";
import { UnsavedFiles } from "./unsaved-files.js";

export type { ExecOptions, RunCodeOptions } from "./exec-options.js";
export type { ReadLog, SandboxInit, SandboxSettings } from "./sandbox-init.js";

/** A running sandbox of one session. */
export class Sandbox {
  readonly id: string;
  /** The backend's name. */
  readonly type: string;
  readonly files: SandboxFiles;
  readonly network: SandboxNetwork;
  /** What its end could not copy to this host. */
  readonly unsaved = new UnsavedFiles();
  readonly #instance: Instance;
  readonly #settings: SandboxSettings;
  readonly #touched: TouchedFiles;
  readonly #start: CommandStart;
  readonly #programs: ProgramRunner;
  readonly #workspace: WorkspaceFiles;
  readonly #sync: SessionSync | undefined;
  readonly #reads: ReadLog | undefined;
  readonly #onStopped: (() => void | Promise<void>) | undefined;
  #sessionId: string;
  #stopping: Promise<void> | undefined;
  #active = 0;
  #lastUsedAt = Date.now();

  constructor(init: SandboxInit) {
    this.id = init.instance.id;
    this.#sessionId = init.sessionId;
    this.type = init.type;
    this.#instance = init.instance;
    this.#settings = init.settings;
    this.#workspace = init.workspace;
    this.#sync = init.sync;
    this.#reads = init.reads;
    this.#onStopped = init.onStopped;
    this.#touched = new TouchedFiles(init.workspace, init.sync, init.reads);
    this.files = new SandboxFiles(init.workspace, {
      used: () => {
        this.#assertRunning();
        this.#touched.readByHost();
        this.touch();
      },
      changed: () => this.#touched.changedByHost(),
    });
    this.network = new SandboxNetwork(init.instance.runner, init.network);
    this.#start = new CommandStart(init.instance, this.network);
    this.#programs = new ProgramRunner(init, this.#touched.changes, this.#start);
    // Whatever ends the guest ends the sandbox.
    void init.instance.runner.closed.then(() => {
      this.#sync?.lost();
      void this.stopUnasked();
    });
  }

  get sessionId(): string {
    return this.#sessionId;
  }

  get isRunning(): boolean {
    return this.#stopping === undefined;
  }

  /** Commands that are running now. */
  get activeExecutions(): number {
    return this.#active;
  }

  get lastUsedAt(): number {
    return this.#active > 0 ? Date.now() : this.#lastUsedAt;
  }

  /** Where programs inside find the session's files. */
  get workspacePath(): string {
    return this.#instance.guestWorkspace;
  }

  /** Says that somebody uses it: the idle timeout starts anew. */
  touch(): void {
    this.#lastUsedAt = Date.now();
  }

  /** The listener is told what each execution changed before its result is out; it resolves soon, and never rejects. */
  tellFileChanges(listener: (changes: readonly FileChange[]) => Promise<void>): void {
    this.#touched.tell(listener);
  }

  /**
   * Copies what has changed inside to this host now, where the sandbox shares no directory with it; otherwise it happens
   * after each execution, in the background, and at the stop. Undefined: the files are here, or go with the sandbox.
   */
  async syncToHost(): Promise<SyncReport | undefined> {
    this.#assertRunning();
    return this.#sync?.isKept ? this.#sync.toHost() : undefined;
  }

  /** The other way: what has changed in the session's directory on this host is copied into the sandbox. */
  async syncFromHost(): Promise<SyncReport | undefined> {
    this.#assertRunning();
    if (!this.#sync?.isKept) return undefined;
    this.#touched.changes.invalidate();
    try {
      return await this.#sync.toContainer();
    } finally {
      this.#touched.changes.invalidate();
    }
  }

  /** Says whose it is from now on: one that was started ahead was nobody's. */
  assign(sessionId: string): void {
    this.#sessionId = sessionId;
    this.touch();
  }

  /** True when the guest answers. */
  async isHealthy(): Promise<boolean> {
    if (!this.isRunning) return false;
    await this.#instance.runner.ping();
    return this.isRunning;
  }

  /** What the walls refused since it was last asked, where the backend sees that. For people, not for decisions. */
  async violations(): Promise<readonly Violation[]> {
    return (await this.#instance.violations?.()) ?? [];
  }

  /** What everything inside uses now, counted from outside; undefined: this backend cannot tell, or it has ended. */
  async usage(): Promise<ResourceUsage | undefined> {
    // What it ran in may be another's by now.
    const usage = this.isRunning ? await this.#instance.usage?.() : undefined;
    if (usage === undefined || !this.network.isOpen) return usage;
    const { bytesSent, bytesReceived } = this.network.totals;
    return { ...usage, networkSentBytes: bytesSent, networkReceivedBytes: bytesReceived };
  }

  /** Runs a command; arguments are passed as they are, without a shell. */
  exec(argv: readonly string[], options: ExecOptions = {}): Execution {
    return new Execution(options.stream ?? false, (sink) => this.execInto(sink, argv, options));
  }

  /** The same, with the events in an execution that has begun already. */
  async execInto(
    sink: ExecutionSink,
    argv: readonly string[],
    options: ExecOptions = {},
  ): Promise<ExecutionResult> {
    checkCommand(argv);
    return this.#execute({ argv }, options, sink);
  }

  /** Runs a shell command line. */
  shell(command: string, options: ExecOptions = {}): Execution {
    return this.exec(["bash", "-c", command], options);
  }

  /** Runs a program given as text. */
  runCode(options: RunCodeOptions): Execution {
    return new Execution(options.stream ?? false, (sink) => this.runCodeInto(sink, options));
  }

  /** The same, with the events in an execution that has begun already. */
  async runCodeInto(sink: ExecutionSink, options: RunCodeOptions): Promise<ExecutionResult> {
    checkProgram(options);
    const language = findLanguage(options.language);
    this.#assertRunning();
    checkExecOptions(options);
    this.touch();
    return this.#programs.run(language, options, (request, tidyUp) =>
      this.#execute(request, options, sink, tidyUp),
    );
  }

  /** A real terminal inside, with a shell unless another command is given. */
  async terminal(options: TerminalOptions): Promise<Terminal> {
    this.#assertRunning();
    const cwd = this.#start.directory(options.cwd);
    const { watch, ready } = this.#touched.begin({ reads: false });
    const used = this.network.measure();
    this.#active++;
    const ended = () => {
      used();
      watch.over();
      this.#active--;
      this.touch();
    };
    try {
      await ready;
      const env = { ...this.#start.environment, ...options.env };
      const terminal = await openTerminal(this.#instance, { ...options, env, cwd }, async (outcome) =>
        this.#result(outcome, await watch.seen(), used()),
      );
      terminal.exit.then(ended, ended);
      return terminal;
    } catch (error) {
      ended();
      throw error;
    }
  }

  /** A command on a terminal, with the events in an execution that has begun already; it has no time limit of its own. */
  async terminalInto(
    sink: ExecutionSink,
    argv: readonly string[],
    seat: TerminalSeat,
    options: ExecOptions = {},
  ): Promise<ExecutionResult> {
    const { rows, columns } = seat;
    return this.#execute({ argv, terminal: { rows, columns } }, seatedOptions(seat, options), sink);
  }

  /** Starts an interpreter ahead of the first program; resolves when it is ready. */
  async prewarm(language: string): Promise<void> {
    this.#assertRunning();
    await this.#programs.prewarm(findLanguage(language));
  }

  /**
   * Copies what has changed inside to this host as its stop will. False: not all of it got here, and would be lost with
   * the sandbox.
   */
  async save(): Promise<boolean> {
    this.#assertRunning();
    return (await this.#sync?.save()) ?? true;
  }

  /** Kills everything inside and removes every trace but the workspace. Idempotent. */
  stop(): Promise<void> {
    this.unsaved.isTold = true;
    return this.#end();
  }

  /** The same where nobody waits for the outcome: it never rejects, and what was not copied is in `unsaved`. */
  async stopUnasked(): Promise<void> {
    await this.#end().catch(() => undefined);
  }

  /** Stops it unasked, and tries once more to destroy what a stop could not. */
  async ensureStopped(): Promise<void> {
    await this.#end().catch(() => this.#instance.destroy());
  }

  /**
   * Ends it as `stop` does, but for what it ran in, which is handed back with everything still in it. Undefined: it has
   * stopped already.
   */
  async retire(): Promise<Instance | undefined> {
    if (!this.isRunning) {
      await this.stop().catch(() => undefined);
      return undefined;
    }
    this.#stopping = this.#leave().finally(() => this.#onStopped?.());
    try {
      await this.#stopping;
    } catch (error) {
      await this.#instance.destroy();
      throw error;
    }
    return this.#instance;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #end(): Promise<void> {
    this.#stopping ??= this.#stop();
    return this.#stopping;
  }

  async #stop(): Promise<void> {
    try {
      await this.#leave();
    } finally {
      try {
        await this.#instance.destroy();
      } finally {
        await this.#onStopped?.();
      }
    }
  }

  /** Lets go of everything that this host holds of it. */
  async #leave(): Promise<void> {
    this.#programs.close();
    await this.network.close();
    try {
      await this.#sync?.finish();
    } catch (error) {
      this.unsaved.failure = toSandboxError(error);
      throw error;
    } finally {
      // First: the last one to let go of a mounted workspace waits for it to be unmounted.
      this.#workspace.close();
      await this.#reads?.close();
    }
  }

  async #execute(
    request: Omit<RunRequest, "env" | "cwd">,
    options: ExecOptions,
    execution: ExecutionSink,
    /** Something to do while it is found out what happened to the files. Never throws. */
    tidyUp?: () => Promise<void>,
  ): Promise<ExecutionResult> {
    this.#assertRunning();
    checkExecOptions(options);
    const stream = options.stream ?? false;
    const { watch, ready } = this.#touched.begin({ reads: true });
    this.#active++;
    let used: (() => NetworkUse | undefined) | undefined;
    try {
      await ready;
      used = this.network.measure();
      const outcome = await runCommand(
        this.#instance,
        {
          ...request,
          env: { ...this.#start.environment, ...options.env },
          cwd: this.#start.directory(options.cwd),
        },
        {
          stdin: options.stdin,
          timeoutMs: options.timeoutMs ?? this.#settings.timeoutMs,
          signal: options.signal,
          stream,
          overlapped: () => watch.overlapped,
          maxOutputBytes: options.maxOutputBytes ?? (stream ? undefined : this.#settings.maxOutputBytes),
          ended: watch.ended,
        },
        execution,
      );
      const [seen] = await Promise.all([watch.seen(), tidyUp?.()]);
      return this.#result(outcome, seen, used(), options.timeoutMs);
    } catch (error) {
      throw commandUnavailable(error, this.#instance.imageOf?.());
    } finally {
      used?.();
      watch.over();
      this.#active--;
      this.touch();
    }
  }

  #result(
    outcome: CommandOutcome,
    changes: FilesTouched,
    network: NetworkUse | undefined,
    timeoutMs = this.#settings.timeoutMs,
  ): ExecutionResult {
    if (!outcome.clean) void this.stopUnasked();
    return createResult(outcome, {
      sandboxType: this.type,
      sandboxId: this.id,
      sessionId: this.sessionId,
      fileChanges: changes.changes,
      ...(changes.read !== undefined && { filesRead: changes.read }),
      ...(changes.readTruncated === true && { filesReadTruncated: true }),
      ...(changes.truncated === true && { filesWrittenTruncated: true }),
      ...(network !== undefined && { network }),
      timeoutMs,
    });
  }

  #assertRunning(): void {
    if (this.isRunning) return;
    const message = `The sandbox of session ${JSON.stringify(this.sessionId)} has stopped`;
    throw new SandboxError("SANDBOX_NOT_RUNNING", message, {
      hint: "Ask the manager for it again: getSandbox starts a new one with the same files.",
    });
  }
}

import type { Readable } from "node:stream";
import { MAX_COMMAND_ARGUMENT_BYTES } from "../../kit/code-limits.js";
import { SandboxError, toSandboxError } from "../../kit/errors.js";
import type { Instance, ResourceUsage, Violation } from "../backends/index.js";
import { SessionProjects } from "../projects/index.js";
import type { RestoreReport, SnapshotInfo, WorkspaceFiles } from "../workspace/index.js";
import { Activity } from "./activity.js";
import type { CodeContext } from "./contexts/code-context.js";
import { type ContextOptions, Contexts } from "./contexts/contexts.js";
import {
  checkCommand,
  checkExecOptions,
  checkProgram,
  type ExecOptions,
  type RunCodeOptions,
} from "./exec-options.js";
import { Execution } from "./executions/execution.js";
import type { ExecutionSink } from "./executions/execution-sink.js";
import { Executions } from "./executions/executions.js";
import type { ExecutionResult } from "./executions/result.js";
import {
  type Terminal,
  type TerminalInput,
  type TerminalOptions,
  terminalRunOptions,
} from "./executions/terminal.js";
import type { FileChange } from "./files/change-log.js";
import { type ReadLog, TouchedFiles } from "./files/file-activity.js";
import { SandboxFiles } from "./files/sandbox-files.js";
import {
  type ForkOptions,
  type RestoreOptions,
  SandboxSnapshots,
  type SnapshotOptions,
} from "./files/snapshots.js";
import { SHELL } from "./languages/bash/language.js";
import { findLanguage } from "./languages/registry.js";
import { SandboxNetwork } from "./network/network.js";
import { CellRunner } from "./programs/cell-runner.js";
import { CommandStart } from "./programs/command-start.js";
import type { Harness } from "./programs/harness.js";
import { ProgramPreparer } from "./programs/program-preparer.js";
import type { SandboxInit, SandboxSettings } from "./sandbox-init.js";
import { type SessionSync, UnsavedFiles } from "./sync/session-sync.js";
import type { SyncReport } from "./sync/sync-workspace.js";

export type { ExecOptions, RunCodeOptions } from "./exec-options.js";

/** A running sandbox of one session. */
export class RunningSandbox {
  readonly id: string;
  /** The backend's name. */
  readonly type: string;
  readonly files: SandboxFiles;
  readonly network: SandboxNetwork;
  /** Directories of this host that were copied into the session. @internal */
  readonly projects: SessionProjects;
  /** What its end could not copy to this host. @internal */
  readonly unsaved = new UnsavedFiles();
  readonly #instance: Instance;
  readonly #settings: SandboxSettings;
  readonly #touched: TouchedFiles;
  readonly #start: CommandStart;
  readonly #programs: ProgramPreparer;
  readonly #cells: CellRunner;
  readonly #contexts: Contexts;
  readonly #workspace: WorkspaceFiles;
  readonly #sync: SessionSync | undefined;
  readonly #reads: ReadLog | undefined;
  readonly #onStopped: (() => void | Promise<void>) | undefined;
  readonly #activity = new Activity();
  readonly #executions: Executions;
  readonly #snapshots: SandboxSnapshots<RunningSandbox>;
  #sessionId: string;
  #stopping: Promise<void> | undefined;

  /** @internal */
  constructor(init: SandboxInit<RunningSandbox>) {
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
      looked: () => {
        this.#assertRunning();
        this.#touched.readByHost();
        return this.#touched.changes.programs;
      },
      changed: () => this.#touched.changedByHost(),
    });
    this.network = new SandboxNetwork(init.instance.runner, init.network);
    this.#start = new CommandStart(init.instance, this.network);
    this.#programs = new ProgramPreparer(init, this.#touched.changes, this.#start);
    this.#cells = new CellRunner(init.instance, init.settings.cells, this.#start);
    const shared = {
      touched: this.#touched,
      activity: this.#activity,
      sessionId: () => this.#sessionId,
      assertRunning: () => this.#assertRunning(),
    };
    this.#executions = new Executions({
      ...shared,
      instance: init.instance,
      type: init.type,
      settings: init.settings,
      start: this.#start,
      network: this.network,
      onUnclean: () => void this.stopInBackground(),
    });
    const { workspace, snapshots: store, fork } = init;
    this.#snapshots = new SandboxSnapshots({ ...shared, store, projects: init.projects, workspace, fork });
    this.projects = new SessionProjects(init.projects, {
      use: (work, options) => this.#snapshots.useTree(work, options),
    });
    this.#contexts = new Contexts({
      instance: init.instance,
      settings: init.settings,
      start: this.#start,
      programs: this.#programs,
      executions: this.#executions,
      snapshots: this.#snapshots,
    });
    // Whatever ends the guest ends the sandbox.
    void init.instance.runner.closed.then(() => {
      this.#sync?.lost();
      void this.stopInBackground();
    });
  }

  get sessionId(): string {
    return this.#sessionId;
  }

  get isRunning(): boolean {
    return this.#stopping === undefined;
  }

  /** Commands that are running now, and snapshots that are taken or brought back. */
  get activeExecutions(): number {
    return this.#activity.count;
  }

  get lastUsedAt(): number {
    return this.#activity.lastUsedAt;
  }

  /** Where programs inside find the session's files. */
  get workspacePath(): string {
    return this.#instance.guestWorkspace;
  }

  /** Marks it as used: the idle timeout starts again. @internal */
  touch(): void {
    this.#activity.touch();
  }

  /** The listener is told what each execution changed before its result is out; it resolves soon, and never rejects. @internal */
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

  /** Assigns a sandbox that was started ahead to its session. @internal */
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
    if (usage === undefined || !this.network.isLoaded) return usage;
    const { bytesSent, bytesReceived } = this.network.totals;
    return { ...usage, networkSentBytes: bytesSent, networkReceivedBytes: bytesReceived };
  }

  /** Runs a command: a list without a shell, a text by one. Await the result, or iterate the events. */
  exec(command: string | readonly string[], options: ExecOptions = {}): Execution {
    return new Execution((sink) =>
      typeof command === "string"
        ? this.execLineInto(sink, command, options)
        : this.execInto(sink, command, options),
    );
  }

  /** A command line, by the shell, with the events in an execution that has begun already. @internal */
  async execLineInto(sink: ExecutionSink, line: string, options: ExecOptions = {}): Promise<ExecutionResult> {
    return Buffer.byteLength(line) > MAX_COMMAND_ARGUMENT_BYTES
      ? this.runCodeInto(sink, line, { ...options, language: SHELL.language })
      : this.execInto(sink, SHELL.command(line), options);
  }

  /** The same, with the events in an execution that has begun already. @internal */
  async execInto(
    sink: ExecutionSink,
    argv: readonly string[],
    options: ExecOptions = {},
  ): Promise<ExecutionResult> {
    checkCommand(argv);
    return this.#executions.execute({ argv }, options, sink);
  }

  /** Runs a program given as text. Await the result, or iterate the events. */
  runCode(code: string, options: RunCodeOptions): Execution {
    return new Execution((sink) => this.runCodeInto(sink, code, options));
  }

  /** The same, with the events in an execution that has begun already; by a harness, where there is one. @internal */
  async runCodeInto(
    sink: ExecutionSink,
    code: string,
    options: RunCodeOptions,
    harness?: Harness,
  ): Promise<ExecutionResult> {
    checkProgram(code, options);
    const language = findLanguage(options.language);
    this.#assertRunning();
    // First: the program becomes a file in the workspace.
    this.#activity.assertFilesStay();
    checkExecOptions(options);
    this.touch();
    const program =
      options.isolate === true
        ? this.#cells.prepare(language, code, options)
        : await this.#programs.prepare(language, code, options, harness);
    try {
      const care = { tidyUp: program.tidyUp, harness: options.isolate === true ? undefined : harness };
      return await this.#executions.execute(program.request, options, sink, care);
    } catch (error) {
      throw program.explain(error);
    } finally {
      await program.release?.();
    }
  }

  /** A real terminal inside, with a shell unless another command is given. */
  async terminal(options: TerminalOptions): Promise<Terminal> {
    return this.#executions.terminal(options);
  }

  /** A command on a terminal, with the events in an execution that has begun already; it has no time limit of its own. @internal */
  async terminalInto(
    sink: ExecutionSink,
    argv: readonly string[],
    input: TerminalInput,
    options: ExecOptions = {},
  ): Promise<ExecutionResult> {
    const { rows, columns } = input;
    return this.#executions.execute(
      { argv, terminal: { rows, columns } },
      terminalRunOptions(input, options),
      sink,
    );
  }

  /** Code that keeps its state between runs, like a notebook. It goes with the sandbox. */
  async createContext(options: ContextOptions = {}): Promise<CodeContext> {
    this.#assertRunning();
    this.touch();
    return this.#contexts.create(options);
  }

  /** The context of that name, made now if there is none. One of another language is refused. @internal */
  async obtainContext(id: string, language: string): Promise<CodeContext> {
    this.#assertRunning();
    this.touch();
    return this.#contexts.obtain(id, language);
  }

  /** The context of that name; CONTEXT_NOT_FOUND: there is none. */
  context(id: string): CodeContext {
    this.#assertRunning();
    return this.#contexts.get(id);
  }

  listContexts(): CodeContext[] {
    return this.#contexts.list();
  }

  /** Keeps all files of the workspace as they are now, with the session. Programs may run meanwhile. */
  snapshot(options: SnapshotOptions = {}): Promise<SnapshotInfo> {
    return this.#snapshots.create({ ...options, isTemporary: false });
  }

  /**
   * Makes the workspace what it was. SANDBOX_BUSY: something runs; terminals and contexts that wait may stay. What
   * `denyWrite` protects stays as it is, and is told in `skipped`.
   */
  restore(snapshot: string | SnapshotInfo, options: RestoreOptions = {}): Promise<RestoreReport> {
    return this.#snapshots.restore(snapshot, options);
  }

  /** The session's snapshots, the newest first. */
  listSnapshots(): Promise<SnapshotInfo[]> {
    return this.#snapshots.list();
  }

  /** False: there is none of that id. */
  deleteSnapshot(snapshot: string | SnapshotInfo): Promise<boolean> {
    return this.#snapshots.remove(snapshot);
  }

  /** As an uncompressed tar. Read the stream to its end or destroy it. */
  exportSnapshot(snapshot: string | SnapshotInfo): Promise<Readable> {
    return this.#snapshots.exportArchive(snapshot);
  }

  /** A snapshot of what a tar has: files, directories, and links that stay inside. Nothing else is taken. */
  importSnapshot(archive: Readable | Uint8Array, options: SnapshotOptions = {}): Promise<SnapshotInfo> {
    return this.#snapshots.importArchive(archive, options);
  }

  /** The sandbox of a new session that starts with the files of a snapshot, or with these. */
  fork(sessionKey?: string, options: ForkOptions = {}): Promise<RunningSandbox> {
    return this.#snapshots.fork(sessionKey, options);
  }

  /** True: programs can run in cells of their own (`isolate`). */
  get hasCells(): boolean {
    return this.#settings.cells !== undefined;
  }

  /** Makes cells ahead of the first program; resolves when the first of them is ready. @internal */
  async prewarmCells(): Promise<void> {
    this.#assertRunning();
    await this.#cells.prewarm();
  }

  /** Starts an interpreter ahead of the first program; resolves when it is ready. @internal */
  async prewarm(language: string): Promise<void> {
    this.#assertRunning();
    await this.#programs.prewarm(findLanguage(language));
  }

  /**
   * Copies what has changed inside to this host as its stop will. False: not all of it got here, and would be lost with
   * the sandbox.
   * @internal
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

  /** The same, as everything is closed. */
  close(): Promise<void> {
    return this.stop();
  }

  /** The same without a caller that waits: it never rejects, and what was not copied is in `unsaved`. @internal */
  async stopInBackground(): Promise<void> {
    await this.#end().catch(() => undefined);
  }

  /** Stops it, and tries once more to destroy what a stop could not. @internal */
  async ensureStopped(): Promise<void> {
    await this.#end().catch(() => this.#instance.destroy());
  }

  /**
   * Ends it as `stop` does, but for what it ran in, which is handed back with everything still in it. Undefined: it has
   * stopped already.
   * @internal
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
    return this.close();
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
    await this.#snapshots.close();
    await this.network.close();
    try {
      await this.#sync?.finish();
    } catch (error) {
      this.unsaved.failure = toSandboxError(error);
      throw error;
    } finally {
      // First: the last user of a mounted workspace waits for it to be unmounted.
      this.#workspace.close();
      await this.#reads?.close();
    }
  }

  #assertRunning(): void {
    if (this.isRunning) return;
    const message = `The sandbox of session ${JSON.stringify(this.sessionId)} has stopped`;
    throw new SandboxError("SANDBOX_NOT_RUNNING", message, {
      hint: "Open the session again: its files are still there.",
    });
  }
}

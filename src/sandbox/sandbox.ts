import type { Instance, ResourceUsage, Violation } from "../backends/backend.js";
import { SandboxError, toSandboxError } from "../errors.js";
import type { RunRequest } from "../wire/runner.js";
import type { WorkspaceFiles } from "../workspace/index.js";
import { ChangeLog, type ChangesSeen, type FileChange } from "./change-log.js";
import { checkExecOptions, type ExecOptions, type RunCodeOptions } from "./exec-options.js";
import { Execution, type ExecutionSink } from "./execution.js";
import { SandboxFiles } from "./files.js";
import type { SyncReport } from "./inside/sync-workspace.js";
import { commandUnavailable, findLanguage, type Language, languageUnavailable } from "./languages.js";
import { type NetworkInit, type NetworkUse, SandboxNetwork } from "./network.js";
import { type ProgramFile, placeProgram } from "./program-file.js";
import { createResult, type ExecutionResult } from "./result.js";
import { type CommandOutcome, runCommand } from "./run-command.js";
import type { SessionSync } from "./session-sync.js";
import {
  openTerminal,
  seatedOptions,
  type Terminal,
  type TerminalOptions,
  type TerminalSeat,
} from "./terminal.js";
import { UnsavedFiles } from "./unsaved-files.js";
import { WarmInterpreters, type WarmSettings } from "./warm-interpreters.js";

export type { ExecOptions, RunCodeOptions } from "./exec-options.js";

export interface SandboxSettings {
  readonly timeoutMs: number;
  readonly maxOutputBytes: number;
  readonly warm: (language: Language) => WarmSettings;
}

/** Tells which files of the workspace were read since it was last asked; undefined: nobody could look. */
export interface ReadLog {
  take(): Promise<{ readonly files: readonly string[]; readonly truncated: boolean } | undefined>;
  /** Called once, before the sandbox ends. */
  close(): Promise<void>;
}

export interface SandboxInit {
  readonly instance: Instance;
  readonly type: string;
  readonly sessionId: string;
  /** Closed with the sandbox. */
  readonly workspace: WorkspaceFiles;
  readonly settings: SandboxSettings;
  /** Copies the files to this host, where it shares no directory with the sandbox. */
  readonly sync?: SessionSync;
  /** Left out: results do not say what was read. */
  readonly reads?: ReadLog;
  /** Left out: there is no way out, and no port can be opened. */
  readonly network?: NetworkInit;
  /** Called once, when the sandbox has stopped for whatever reason. */
  readonly onStopped?: () => void | Promise<void>;
}

interface FilesTouched extends ChangesSeen {
  readonly read?: readonly string[] | undefined;
  readonly readTruncated?: boolean | undefined;
}

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
  readonly #changes: ChangeLog;
  readonly #warm: WarmInterpreters;
  readonly #workspace: WorkspaceFiles;
  readonly #sync: SessionSync | undefined;
  readonly #reads: ReadLog | undefined;
  /** The host may have read files itself since the log was last asked. */
  #hostMayHaveRead = true;
  #onFileChanges: ((changes: readonly FileChange[]) => Promise<void>) | undefined;
  /** Languages whose programs have a place to run in, where those have places of their own. */
  readonly #prepared = new Map<string, Promise<void>>();
  readonly #onStopped: (() => void | Promise<void>) | undefined;
  #sessionId: string;
  #stopping: Promise<void> | undefined;
  /** What commands start from, until the network's part of it changes. */
  #known: { readonly network: object; readonly all: Readonly<Record<string, string>> } | undefined;
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
    this.#changes = new ChangeLog(init.workspace);
    this.files = new SandboxFiles(init.workspace, {
      used: () => {
        this.#assertRunning();
        this.#hostMayHaveRead = true;
        this.touch();
      },
      changed: () => {
        this.#changes.invalidate();
        this.#sync?.touched();
      },
    });
    this.network = new SandboxNetwork(init.instance.runner, init.network);
    this.#warm = new WarmInterpreters(init.instance, init.settings.warm, () => this.#environment());
    // Whatever ends the guest ends the sandbox.
    void init.instance.runner.closed.then(() => {
      this.#sync?.lost();
      void this.stopUnasked();
    });
    this.#sync?.leaveOut(() => this.#changes.programs);
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
    this.#onFileChanges = listener;
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
    this.#changes.invalidate();
    try {
      return await this.#sync.toContainer();
    } finally {
      this.#changes.invalidate();
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
    if (!Array.isArray(argv) || argv.some((each) => typeof each !== "string") || !argv[0]) {
      throw new SandboxError("INVALID_ARGUMENT", "A command is a list of texts, the program first", {
        hint: 'Pass the program and its arguments: ["ls", "-la"].',
      });
    }
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
    if (typeof options.language !== "string" || typeof options.code !== "string") {
      throw new SandboxError("INVALID_ARGUMENT", "A program takes a language and its code, both as text", {
        hint: 'For example { language: "python", code: "print(1)" }.',
      });
    }
    const language = findLanguage(options.language);
    this.#assertRunning();
    checkExecOptions(options);
    this.touch();
    const { code, filename } = options;
    if (this.#instance.prepareLanguage !== undefined) await this.#prepareLanguage(language.name);
    const program = await placeProgram(this.#workspace, this.#changes, language, code, filename);
    try {
      return await this.#runProgram(language, program, options, sink);
    } finally {
      await program.remove();
      this.#replenish(language);
    }
  }

  /** A real terminal inside, with a shell unless another command is given. */
  async terminal(options: TerminalOptions): Promise<Terminal> {
    this.#assertRunning();
    const cwd = this.#directory(options.cwd);
    const before = this.#changes.begin();
    const saving = this.#sync?.begin();
    const used = this.network.measure();
    this.#active++;
    let hasChanged = true;
    const ended = () => {
      used();
      saving?.(hasChanged);
      this.#active--;
      this.#changes.abandon(before);
      this.touch();
    };
    try {
      await before.snapshot;
      const env = { ...this.#environment(), ...options.env };
      const terminal = await openTerminal(this.#instance, { ...options, env, cwd }, async (outcome) => {
        const changes = await this.#changes.end(before);
        hasChanged = changes.truncated || changes.changes.length > 0;
        await this.#tellChanges(changes);
        return this.#result(outcome, changes, used());
      });
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
    const found = findLanguage(language);
    if (this.#instance.prepareLanguage !== undefined) await this.#prepareLanguage(found.name);
    await this.#warm.prepare(found);
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
    this.#warm.close();
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

  async #runProgram(
    language: Language,
    program: ProgramFile,
    options: RunCodeOptions,
    execution: ExecutionSink,
  ): Promise<ExecutionResult> {
    const { guestWorkspace, guestRuntime } = this.#instance;
    const path = `${guestWorkspace}/${program.path}`;
    const args = options.args ?? [];
    const env = { ...this.#environment(), ...options.env };
    const cwd = this.#directory(options.cwd);
    const interpreter = this.#warm.take(language, options.env ?? {});
    const request: Omit<RunRequest, "env" | "cwd"> = {
      argv: [...language.command(path, guestRuntime), ...args],
      language: language.name,
      ...(interpreter !== undefined && {
        warm: { id: interpreter.id, job: JSON.stringify({ path, argv: [path, ...args], cwd, env }) },
      }),
    };
    try {
      return await this.#execute(request, options, execution);
    } catch (error) {
      if (toSandboxError(error).code !== "COMMAND_NOT_FOUND") throw error;
      throw languageUnavailable(language, error, this.#instance.imageOf?.(language.name));
    } finally {
      interpreter?.done();
    }
  }

  async #execute(
    request: Omit<RunRequest, "env" | "cwd">,
    options: ExecOptions,
    execution: ExecutionSink,
  ): Promise<ExecutionResult> {
    this.#assertRunning();
    checkExecOptions(options);
    const stream = options.stream ?? false;
    const before = this.#changes.begin();
    const saving = this.#sync?.begin();
    let hasChanged = true;
    this.#active++;
    let used: (() => NetworkUse | undefined) | undefined;
    try {
      await before.snapshot;
      if (this.#hostMayHaveRead) await this.#reads?.take();
      this.#hostMayHaveRead = false;
      used = this.network.measure();
      const outcome = await runCommand(
        this.#instance,
        { ...request, env: { ...this.#environment(), ...options.env }, cwd: this.#directory(options.cwd) },
        {
          stdin: options.stdin,
          timeoutMs: options.timeoutMs ?? this.#settings.timeoutMs,
          signal: options.signal,
          stream,
          overlapped: () => before.overlapped,
          maxOutputBytes: options.maxOutputBytes ?? (stream ? undefined : this.#settings.maxOutputBytes),
        },
        execution,
      );
      const [reads, changes] = await Promise.all([this.#reads?.take(), this.#changes.end(before)]);
      const read = reads?.files.filter((path) => !this.#changes.isProgram(path));
      hasChanged = changes.truncated || changes.changes.length > 0;
      await this.#tellChanges(changes);
      const touched = { ...changes, read, readTruncated: reads?.truncated };
      return this.#result(outcome, touched, used(), options.timeoutMs);
    } catch (error) {
      throw commandUnavailable(error, this.#instance.imageOf?.());
    } finally {
      used?.();
      saving?.(hasChanged);
      this.#active--;
      this.#changes.abandon(before);
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

  async #tellChanges({ changes }: ChangesSeen): Promise<void> {
    if (changes.length > 0) await this.#onFileChanges?.(changes);
  }

  /** Once for each language; a failure is not remembered. */
  #prepareLanguage(language: string): Promise<void> | undefined {
    const known = this.#prepared.get(language);
    if (known !== undefined) return known;
    const prepared = this.#instance.prepareLanguage?.(language);
    if (prepared === undefined) return undefined;
    this.#prepared.set(language, prepared);
    prepared.catch(() => this.#prepared.delete(language));
    return prepared;
  }

  #replenish(language: Language): void {
    if (this.isRunning) this.#warm.replenish(language);
  }

  /** What every command starts from. */
  #environment(): Readonly<Record<string, string>> {
    const { environment } = this.network;
    if (this.#known?.network !== environment) {
      this.#known = { network: environment, all: { ...this.#instance.baseEnv, ...environment } };
    }
    return this.#known.all;
  }

  #directory(cwd: string | undefined): string {
    const workspace = this.#instance.guestWorkspace;
    if (cwd === undefined || cwd === "") return workspace;
    return cwd.startsWith("/") ? cwd : `${workspace}/${cwd}`;
  }

  #assertRunning(): void {
    if (this.isRunning) return;
    throw new SandboxError(
      "SANDBOX_NOT_RUNNING",
      `The sandbox of session ${JSON.stringify(this.sessionId)} has stopped`,
      {
        hint: "Ask the manager for it again: getSandbox starts a new one with the same files.",
      },
    );
  }
}

import { randomUUID } from "node:crypto";
import type { Duplex } from "node:stream";
import { ConfirmationQueue } from "../../guard/confirmation/index.js";
import { PolicyEngine } from "../../guard/policy/index.js";
import { checkOptions } from "../../kit/check-options.js";
import { defined } from "../../kit/defined.js";
import { SandboxError, toSandboxError } from "../../kit/errors.js";
import { checkStatePath, stateDirectoryOf } from "../../kit/state-directory.js";
import type { Limits } from "../../runtime/backends/index.js";
import { findPrebuilt, userRangeOf } from "../../runtime/backends/index.js";
import type { EgressChange } from "../../runtime/egress/index.js";
import { type CopiedIn, type MountRequest, parseMounts } from "../../runtime/projects/index.js";
import type {
  OpenPort,
  OpenPortOptions,
  ResultEvent,
  RunCodeOptions,
  RunningSandbox,
} from "../../runtime/sandbox/index.js";
import { type CodeContext, Execution } from "../../runtime/sandbox/index.js";
import { AccessWatcher, validateSessionKey } from "../../runtime/workspace/index.js";
import { type Config, DEFAULT_CONFIG, SANDBOX_MODES, type SandboxMode } from "../config/index.js";
import type { CallHarness, GuardedFiles } from "./call/call-kind.js";
import { copyCall } from "./call/check-call.js";
import { expectedStart } from "./call/expected-start.js";
import { type ExplainOptions, type Explanation, explainCall } from "./call/explain-call.js";
import {
  type FileCall,
  type FileResult,
  type SandboxCall,
  type SessionTask,
  toolCallOf,
} from "./call/file-call.js";
import type { Guards } from "./call/guards.js";
import type { LongRunningCall } from "./call/long-running-call.js";
import {
  type GuardedTerminal,
  openTerminal,
  TERMINAL_OPTIONS,
  type TerminalCall,
} from "./call/open-terminal.js";
import { SECURITY_MODES } from "./call/required-sandbox.js";
import { runToolCall } from "./call/run-tool-call.js";
import { type GuardedProcess, type ProcessCall, startProcess } from "./call/start-process.js";
import type { ToolCall, ToolResult } from "./call/tool-call.js";
import { openWatch, WATCH_OPTIONS, type WatchCall } from "./call/watch-files.js";
import { checkLanguages } from "./check-languages.js";
import {
  checkEgressOption,
  checkObjects,
  checkOneOf,
  checkPolicyOption,
  checkPoolOption,
  secretsOf,
} from "./check-options.js";
import { EgressController } from "./egress/egress-controller.js";
import { findPrograms, type InstalledPrograms } from "./facts/find-programs.js";
import { type SandboxFacts, sandboxFacts } from "./facts/sandbox-facts.js";
import { ChangeRecorder } from "./files/context-graph.js";
import type { FileWatch } from "./files/file-watch.js";
import { FileWatches } from "./files/file-watches.js";
import { checkProgram } from "./handle/check-arguments.js";
import { executeForHandle } from "./handle/execute-for-handle.js";
import type { LiveCalls, SandboxCaller } from "./handle/handle-host.js";
import { OpenHandles } from "./handle/open-handles.js";
import { SandboxHandle } from "./handle/sandbox-handle.js";
import type {
  GetSandboxOptions,
  MountOptions,
  OpenSessionOptions,
  SandboxManagerOptions,
} from "./manager-options.js";
import {
  GET_SANDBOX_OPTIONS,
  MANAGER_OPTIONS,
  OPEN_SESSION_OPTIONS,
  RUN_CODE_OPTIONS,
} from "./option-names.js";
import { OutputBudget } from "./output/output-budget.js";
import { auditAlerts } from "./sandboxes/audit-alerts.js";
import { checkLimits } from "./sandboxes/limits.js";
import { LiveSandboxes } from "./sandboxes/live-sandboxes.js";
import type { SandboxStarts } from "./sandboxes/start-counter.js";
import type { StartOptions } from "./sandboxes/start-request.js";
import { SessionControl } from "./sessions/session-control.js";
import { SHARED_KEY, sessionIdOf } from "./sessions/session-directory.js";
import { SessionSnapshots } from "./sessions/session-snapshots.js";
import { type SessionInfo, SessionStore } from "./sessions/session-store.js";

export type {
  GetSandboxOptions,
  MountOptions,
  OpenSessionOptions,
  SandboxManagerOptions,
} from "./manager-options.js";

const NEVER = new AbortController().signal;
/** On a busy machine the answer may take a while; a record without it is worth less. */
const READS_TIMEOUT_MS = 2000;
/** What is kept of the output of one session's processes. */
const OUTPUT_BYTES = 16 * 1024 * 1024;

/** Makes sandboxes, hands out the same one per session, runs tool calls in them, and cleans up after them. */
export class SandboxManager {
  readonly #config: Config["sandbox"];
  readonly #options: SandboxManagerOptions;
  readonly #store: SessionStore;
  readonly #sandboxes: LiveSandboxes;
  readonly #guards: Guards;
  readonly #egress: EgressController;
  readonly #control: SessionControl;
  readonly #changes: ChangeRecorder | undefined;
  /** Started with the first sandbox of an audited manager. */
  #accessWatcher: AccessWatcher | undefined;
  readonly #forgetAlerts: (() => void) | undefined;
  /** Terminals and processes. */
  readonly #longRunning = new Set<LongRunningCall<unknown>>();
  readonly #liveCalls = new Map<string, LiveCalls>();
  readonly #handles = new OpenHandles();
  readonly #watches = new FileWatches((session) => this.#sandboxes.find(session));
  #closed = false;

  constructor(options: SandboxManagerOptions = {}) {
    this.#options = checkOptions(options, MANAGER_OPTIONS);
    checkObjects(options);
    this.#config = (options.config ?? DEFAULT_CONFIG).sandbox;
    if (options.limits !== undefined) checkLimits(options.limits);
    checkOneOf("mode", options.mode, SANDBOX_MODES);
    checkOneOf("security mode", options.securityMode, SECURITY_MODES);
    if (options.sessionId !== undefined) validateSessionKey(options.sessionId);
    checkPolicyOption(options.policy);
    checkLanguages(this.#config);
    checkPoolOption(options.pool, options);
    const stateDir = stateDirectoryOf({ stateDir: options.stateDir ?? this.#config.stateDir });
    checkStatePath(stateDir);
    this.#store = new SessionStore(stateDir, userRangeOf(this.#config.backends));
    const { audit, metrics, monitor, contextGraph } = options;
    this.#changes = contextGraph === undefined ? undefined : new ChangeRecorder(contextGraph);
    this.#egress = new EgressController({
      config: this.#config,
      stateDir,
      rules: checkEgressOption(options.egress),
      secrets: secretsOf(options.secrets),
      isDecidedPerCall: options.policy !== undefined,
      audit,
      metrics,
      ...(options.onConnection !== undefined && { onConnection: options.onConnection }),
    });
    this.#control = new SessionControl({
      stateDir,
      egress: this.#egress,
      areOpen: options.controlSocket === true,
      ports: this.#config.network.allowLocalBinding,
      find: (session) => this.#sandboxes.find(session),
    });
    this.#sandboxes = new LiveSandboxes({
      config: this.#config,
      stateDir,
      store: this.#store,
      backend: options.backend ?? options.pool?.options.backend ?? this.#config.backend,
      limits: { ...options.pool?.options.limits, ...options.limits },
      pool: options.pool,
      warm: options.warm,
      handleSignals: options.handleSignals,
      audit,
      // Only an audit record asks which files were read.
      accessWatcher: audit === undefined ? undefined : () => this.#watcher(),
      egress: this.#egress,
      isShared: this.#mode() === "shared",
      reapMore: () => this.#control.reap(),
      assertUsable: () => this.#assertUsable(),
      onStarted: (sandbox) => {
        const changes = this.#changes;
        if (changes !== undefined) {
          sandbox.tellFileChanges((seen) => changes.record(sandbox.sessionId, seen));
        }
        const unwatch = monitor?.watch(sandbox);
        const shut = this.#control.open(sandbox);
        return () => {
          unwatch?.();
          shut();
        };
      },
    });
    this.#forgetAlerts =
      audit === undefined || monitor === undefined
        ? undefined
        : auditAlerts(monitor, audit, (id) => this.#sandboxes.sessionOf(id));
    this.#guards = this.#createGuards();
    if (this.#isEnabled()) this.#sandboxes.prepare();
  }

  /**
   * Runs a tool call: policy, risk, confirmation, a sandbox, an audit record. Await it for its result, or
   * iterate it for its events.
   */
  execute(call: ToolCall): Execution<ToolResult, ResultEvent> {
    const named = this.#inSession(copyCall(call));
    return new Execution<ToolResult, ResultEvent>((sink) => runToolCall(named, this.#guards, sink));
  }

  /** The same for a handle: what was cancelled rejects, and code runs only in a context that was made. @internal */
  executeForHandle(order: () => ToolCall, ended = NEVER): Execution<ToolResult, ResultEvent> {
    return executeForHandle(order, ended, this.#guards, (call) => {
      const { context, sessionId = "" } = call;
      return context === undefined
        ? call
        : { ...call, language: this.findContext(sessionId, context).language };
    });
  }

  /** A context of a session. CONTEXT_NOT_FOUND: it was not made, or has gone with its sandbox. @internal */
  findContext(key: string, id: string): CodeContext {
    const found = this.contextsOf(key).find((context) => context.id === id);
    if (found !== undefined) return found;
    throw new SandboxError("CONTEXT_NOT_FOUND", "This session has no such context", {
      hint: "It may have gone with a sandbox that was stopped. Create it again.",
    });
  }

  /** The contexts of a session that runs. @internal */
  contextsOf(key: string): readonly CodeContext[] {
    return this.#sandboxes.find(this.#nameFor(key))?.listContexts() ?? [];
  }

  /** The processes and terminals that handles of a session started. @internal */
  async liveCalls(key: string): Promise<LiveCalls> {
    const name = this.#nameFor(key);
    const outputs = new OutputBudget(OUTPUT_BYTES);
    const found = this.#liveCalls.get(name) ?? { processes: new Map(), terminals: new Map(), outputs };
    this.#liveCalls.set(name, found);
    return found;
  }

  /** Something done to a session's files, through the same steps as `execute`. Rejects when the work itself fails. */
  async useFiles<Value>(call: FileCall<Value>): Promise<FileResult<Value>> {
    const named = this.#inSession(call);
    return this.#useSession(named, (files) => named.work(files));
  }

  /** The same for something done with the session's sandbox itself: its contexts, its snapshots. */
  async useSandbox<Value>(call: SandboxCall<Value>): Promise<FileResult<Value>> {
    const named = this.#inSession(call);
    return this.#useSession(named, (_, sandbox) => named.work(sandbox));
  }

  /**
   * Tells what is created, modified and deleted in a directory of a session, from now on. It looks while the sandbox runs, and
   * neither keeps it from being idle nor starts it again. Rejects where the session's files may not be listed.
   */
  async watchFiles(call: WatchCall): Promise<FileWatch> {
    checkOptions(call, WATCH_OPTIONS);
    const named = this.#inSession(call);
    const name = this.#nameFor(named.sessionId);
    const watch = await this.#watches.open(name, named.signal, () =>
      openWatch(named, (files) => this.useFiles(files)),
    );
    // The session, or this manager, may have ended before this was registered.
    const isThere = this.#store.exists(name) || this.#sandboxes.find(name) !== undefined;
    if (this.#closed || !isThere) this.#watches.end(name);
    return watch;
  }

  /** Runs a call's code by a harness, in a sandbox that is thrown away, through the same steps as `execute`. @internal */
  async executeBy(harness: CallHarness, call: ToolCall): Promise<ToolResult> {
    const named = this.#inSession(copyCall(call));
    return new Execution<ToolResult>((sink) =>
      runToolCall(named, this.#guards, sink, { type: "harness", harness }),
    );
  }

  /**
   * Opens a terminal: the same steps as `execute`, and one record for all that happens on it. Rejects where it is not
   * allowed to open.
   */
  async openTerminal(call: TerminalCall): Promise<GuardedTerminal> {
    // What is no call at all is refused and recorded like any other.
    if (typeof call === "object" && call !== null) checkOptions<TerminalCall>(call, TERMINAL_OPTIONS);
    return this.#last(openTerminal(this.#inSession(copyCall(call) as TerminalCall), this.#guards));
  }

  /**
   * Starts a program or a command that goes on beside other calls: the same steps as `execute`, one record for its whole
   * life, and no time limit unless the call or the policy sets one. Rejects where it is not allowed to start.
   */
  async startProcess(call: ProcessCall): Promise<GuardedProcess> {
    return this.#last(startProcess(this.#inSession(copyCall(call)), this.#guards));
  }

  /** What `execute` would make of a call, and why. Nothing runs, no person is asked, nothing is recorded. */
  async explain(call: ToolCall, options: ExplainOptions = {}): Promise<Explanation> {
    checkOptions(options, { paths: true });
    return explainCall(this.#inSession(copyCall(call)), this.#guards, options);
  }

  /** Runs a program; a short form of `execute`. */
  executeCode(
    call: ToolCall & { readonly language: string; readonly code: string },
  ): Execution<ToolResult, ResultEvent> {
    return this.execute(call);
  }

  /** Runs a shell's command line, with `files` put in place first; a short form of `execute`. */
  executeShell(call: ToolCall & { readonly command: string }): Execution<ToolResult, ResultEvent> {
    return this.execute(call);
  }

  /** Runs a program in a fresh sandbox; it goes in the background, and at the latest with the manager. */
  async runCodeOnce(
    code: string,
    options: RunCodeOptions & { readonly limits?: Limits },
  ): Promise<ToolResult> {
    const { limits, ...rest } = checkOptions<Partial<typeof options>>(options ?? {}, {
      ...RUN_CODE_OPTIONS,
      limits: true,
    });
    checkProgram(code, rest.language);
    if (limits !== undefined) checkLimits(limits);
    const call = copyCall({ ...rest, code });
    return new Execution<ToolResult>((sink) => runToolCall(call, { ...this.#guards, limits }, sink));
  }

  /**
   * One session: its programs, files, contexts and the rest, decided about and recorded like `execute`. Rejects where its
   * sandbox cannot start; with a policy it starts with the first call, whose limits it has.
   */
  async getSandbox(
    key: string,
    options: GetSandboxOptions & MountOptions & SandboxCaller = {},
  ): Promise<SandboxHandle> {
    const { agentId, role, ephemeral, mounts, ...start } = checkOptions(options, GET_SANDBOX_OPTIONS);
    validateSessionKey(key);
    // A name of its own: an older session's files must not go with it.
    const sessionId = ephemeral === true ? `${key.slice(0, 100)}-${randomUUID()}` : key;
    if (ephemeral === true) this.#store.addTemporary(sessionId);
    if (this.#options.policy === undefined) {
      // What decides about each call may choose another backend, which could not have the files.
      const inMemory = ephemeral === true && this.#guards.securityMode === undefined;
      await this.#startSandbox(sessionId, { ...start, inMemory });
    }
    if (mounts !== undefined) await this.copyIn(sessionId, mounts, defined({ role }));
    const { ended, leave } = this.#handles.add(this.#nameFor(sessionId));
    const remove = async () => {
      leave();
      await this.deleteSession(sessionId);
    };
    const isTemporary = this.#store.isTemporary(sessionId);
    const close = async () => {
      if (leave()) await (isTemporary ? this.deleteSession(sessionId) : this.cleanupSession(sessionId));
    };
    const open = (forked: string) => this.getSandbox(forked, { agentId, role });
    return new SandboxHandle(this, { agentId, role, sessionId }, { ended, close, delete: remove, open });
  }

  /** The same for a session that is made now, and that other processes see from now on. CONFLICT: there is one of that name. @internal */
  async createSandbox(key: string, options: MountOptions & SandboxCaller = {}): Promise<SandboxHandle> {
    this.#assertUsable();
    validateSessionKey(key);
    const conflict = () =>
      new SandboxError("CONFLICT", `There is a session ${JSON.stringify(key)} already`, {
        hint: "Open that one, or choose another name.",
      });
    // A pool's sandbox brings the session's directory with it, and starts at once.
    if (this.#options.pool !== undefined && this.#options.policy === undefined) {
      if (this.hasSession(key)) throw conflict();
      return this.getSandbox(key, options);
    }
    const made = await this.#store.create(this.#nameFor(key));
    if (made === undefined) throw conflict();
    try {
      return await this.getSandbox(key, options);
    } catch (error) {
      // It is ready where only what was to be copied in is missing.
      if (options.mounts !== undefined) await this.deleteSession(key).catch(() => undefined);
      await this.#store.discardUnready(made);
      throw error;
    }
  }

  /**
   * Copies directories of this host into a session, past policy and confirmation: only whoever runs this program may choose
   * them. With a policy the sandbox has the limits of the role's first call.
   */
  async copyIn(
    key: string,
    mounts: readonly MountRequest[],
    { role }: Pick<SandboxCaller, "role"> = {},
  ): Promise<CopiedIn[]> {
    parseMounts(mounts);
    const start = await expectedStart({ role }, this.#guards);
    if (start === undefined)
      throw new SandboxError("POLICY_DENIED", "Nothing may run for this role, so nothing is copied in");
    const sandbox = await this.#startSandbox(key, start);
    return sandbox.projects.copyIn(mounts);
  }

  /**
   * The session's running sandbox, past policy, confirmation and audit. The first call starts it, calls at the same time get
   * the same one.
   * @internal
   */
  async startSandbox(key: string, options: GetSandboxOptions = {}): Promise<RunningSandbox> {
    return this.#startSandbox(key, options);
  }

  /**
   * Starts a session's sandbox in the background; a failure shows when it is asked for. Resolves, always, when the start
   * is over.
   */
  async openSession(key: string, options: OpenSessionOptions = {}): Promise<void> {
    checkOptions(options, OPEN_SESSION_OPTIONS);
    return this.#startAhead(key, options).catch(() => undefined);
  }

  /** Calls that wait for a person's decision: to list, to decide and to subscribe to. */
  get confirmations(): ConfirmationQueue {
    return this.#guards.confirmations;
  }

  /**
   * Opens a port inside a session on this host's loopback, until it is closed. The session may run in another process of
   * this user that opens its control socket.
   */
  async openPort(key: string, port: number, options: OpenPortOptions = {}): Promise<OpenPort> {
    checkOptions(options, { hostPort: true });
    this.#assertUsable();
    validateSessionKey(key);
    return this.#control.openPort(this.#nameFor(key), port, options);
  }

  /**
   * One connection to a port inside a session that runs. PORT_FAILED: nothing listens there. UNSUPPORTED: ports are not
   * opened unless the configuration says so.
   */
  async connectPort(key: string, port: number): Promise<Duplex> {
    this.#assertUsable();
    validateSessionKey(key);
    return this.#control.connectPort(this.#nameFor(key), port);
  }

  /**
   * Lets a running session reach more hosts, or fewer: what is open and no longer allowed is closed. Resolves to how many
   * processes run it.
   */
  async changeEgress(key: string, change: EgressChange): Promise<number> {
    this.#assertUsable();
    validateSessionKey(key);
    return this.#control.changeEgress(this.#nameFor(key), change);
  }

  /** What is true of every sandbox here, for the texts that a model reads. @internal */
  get facts(): SandboxFacts {
    return sandboxFacts(this.#config, this.#options, this.#egress);
  }

  /** What is installed inside, asked of a sandbox that is thrown away. @internal */
  async findPrograms(): Promise<InstalledPrograms> {
    await using sandbox = await this.startSandbox(`facts-${randomUUID()}`, { ephemeral: true });
    return await findPrograms(sandbox);
  }

  /** What a session may reach is for the policy to say, not for a person. @internal */
  get isDecidedByPolicy(): boolean {
    return this.#options.policy !== undefined;
  }

  /** True once some sandbox could reach other hosts: until it has stopped, there may be more to record about it. */
  get hasEgress(): boolean {
    return this.#egress.hasEgress;
  }

  /** Every session with files on this host, last used first. */
  async listSessions(): Promise<(SessionInfo & { readonly running: boolean })[]> {
    const running = await this.#sandboxes.running();
    const isRunning = (key: string) => running.has(key) || this.#control.isRunning(key);
    return this.#store.list().map((session) => ({ ...session, running: isRunning(session.sessionId) }));
  }

  /** How many sandboxes run or start now, without those that a pool keeps ready. */
  get sandboxCount(): number {
    return this.#sandboxes.size;
  }

  /** How starting them went so far. */
  get sandboxStarts(): SandboxStarts {
    return this.#sandboxes.starts;
  }

  /** True when the session runs in this process, or in another of this user that opens its control socket. */
  isRunning(key: string): boolean {
    validateSessionKey(key);
    return this.#control.isRunning(this.#nameFor(key));
  }

  /** True when a session of that name has files here. */
  hasSession(key: string): boolean {
    validateSessionKey(key);
    return this.#store.exists(this.#nameFor(key));
  }

  /** The snapshots of a session, which need not run: list, delete, export, import. */
  snapshots(key: string): SessionSnapshots {
    validateSessionKey(key);
    const path = () => {
      const found = this.#store.find(this.#nameFor(key));
      if (found !== undefined) return found;
      throw new SandboxError("SESSION_NOT_FOUND", `There is no session ${JSON.stringify(key)}`, {
        hint: "The list of sessions has those with files on this host.",
      });
    };
    return new SessionSnapshots(sessionIdOf(this.#nameFor(key)), path, this.#config.snapshots);
  }

  /** Stops a session's sandbox and forgets what was approved for it; its files stay. */
  async cleanupSession(key: string): Promise<void> {
    validateSessionKey(key);
    this.#guards.confirmations.forgetSession(key);
    await this.#sandboxes.stop(this.#nameFor(key));
    this.#liveCalls.delete(this.#nameFor(key));
  }

  /** Stops a session and removes its files. False when there was no such session. */
  async deleteSession(key: string): Promise<boolean> {
    validateSessionKey(key);
    this.#handles.end(
      this.#nameFor(key),
      new SandboxError("SESSION_NOT_FOUND", "This session has been deleted", { hint: "Make another one." }),
    );
    await this.cleanupSession(key).catch((error: unknown) => {
      // What could not be copied would be removed now.
      if (toSandboxError(error).code !== "FILE_FAILED") throw error;
    });
    this.#egress.forget(key);
    this.#watches.end(this.#nameFor(key));
    return this.#store.delete(this.#nameFor(key));
  }

  /** Stops every sandbox, all at once and past failures, which it reports together. */
  cleanupAll(): Promise<void> {
    return this.#sandboxes.stopAll();
  }

  /** Stops everything; the manager cannot be used afterwards. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#guards.confirmations.close();
    this.#watches.close();
    this.#forgetAlerts?.();
    // Each ends with its record, before the sandbox below it goes.
    await Promise.all([...this.#longRunning].map((each) => each.close()));
    try {
      do await this.cleanupAll();
      while (this.#sandboxes.size > 0);
      await this.#sandboxes.close();
      await this.#store.deleteTemporary();
    } finally {
      this.#accessWatcher?.close();
      await this.#changes?.close();
      await this.#control.close();
    }
  }

  /** The same, by its older name. */
  cleanup(): Promise<void> {
    return this.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Removes what killed processes left behind; resolves to how many things. */
  reap(): Promise<number> {
    return this.#sandboxes.reap();
  }

  async #startAhead(key: string, { caller, ...options }: OpenSessionOptions): Promise<void> {
    const expected = caller === undefined ? {} : await expectedStart(caller, this.#guards);
    // A request that ended the session meanwhile has looked for its sandbox already.
    if (expected === undefined || options.signal?.aborted) return;
    await this.#startSandbox(key, { ...options, ...expected, isBackground: true });
  }

  async #startSandbox(
    key: string,
    options: GetSandboxOptions & Pick<StartOptions, "isBackground" | "backend" | "inMemory">,
  ): Promise<RunningSandbox> {
    this.#assertUsable();
    validateSessionKey(key);
    if (options.limits !== undefined) checkLimits(options.limits);
    return options.ephemeral
      ? this.#sandboxes.start(key, options)
      : this.#sandboxes.get(this.#nameFor(key), options);
  }

  async #useSession<Value>(
    call: SessionTask & Pick<FileCall<Value>, "content" | "isPlaced">,
    work: (files: GuardedFiles, sandbox: RunningSandbox) => Promise<Value>,
  ): Promise<FileResult<Value>> {
    let done: { readonly value: Value } | undefined;
    const { summary, paths, isPlaced, touchesAllFiles, asksPerson, refusal } = call;
    const run = async (files: GuardedFiles, sandbox: RunningSandbox) => {
      done = { value: await work(files, sandbox) };
    };
    const task = { summary, paths, isPlaced, touchesAllFiles, asksPerson, refusal, run };
    const result = await new Execution<ToolResult>((sink) =>
      runToolCall(copyCall(toolCallOf(call)), this.#guards, sink, { type: "files", task }),
    );
    return { ...result, ...done };
  }

  #last<Handle>(call: LongRunningCall<Handle>): Promise<Handle> {
    this.#longRunning.add(call);
    void call.over.then(() => this.#longRunning.delete(call));
    return call.opened;
  }

  #watcher(): AccessWatcher {
    this.#accessWatcher ??= new AccessWatcher(findPrebuilt().guest, { timeoutMs: READS_TIMEOUT_MS });
    return this.#accessWatcher;
  }

  #createGuards(): Guards {
    const { policy, confirmation, audit, metrics } = this.#options;
    const looks = policy !== undefined || confirmation !== undefined;
    return {
      policy: policy === undefined ? undefined : new PolicyEngine(policy),
      securityMode: this.#options.securityMode ?? this.#config.securityMode ?? (looks ? "strict" : undefined),
      confirmations: new ConfirmationQueue({
        service: confirmation,
        timeoutMs: this.#config.confirmation.timeoutMs,
        concurrency: this.#options.confirmationsAtOnce,
      }),
      audit,
      metrics,
      sandboxes: this.#sandboxes,
      egress: this.#egress,
      assertUsable: () => this.#assertUsable(),
      nameOf: (sessionId) => this.#nameFor(sessionId),
      onEnded: (session) => this.#watches.nudge(session),
      limits: undefined,
    };
  }

  /** A call that names no session is one of the manager's own, where that has one. */
  #inSession<Call extends { readonly sessionId?: string | undefined }>(call: Call): Call {
    const { sessionId } = this.#options;
    return sessionId === undefined || call?.sessionId !== undefined ? call : { ...call, sessionId };
  }

  /** The session that a key stands for. */
  #nameFor(key: string): string {
    return this.#mode() === "shared" && !this.#store.isTemporary(key) ? SHARED_KEY : key;
  }

  #mode(): SandboxMode {
    return this.#options.mode ?? this.#config.mode;
  }

  #isEnabled(): boolean {
    return this.#config.enabled && this.#mode() !== "disabled";
  }

  #assertUsable(): void {
    if (this.#closed) {
      throw new SandboxError("SANDBOX_NOT_RUNNING", "This manager has been closed", {
        hint: "Make a new manager: sessions and their files are still there.",
        retryable: false,
      });
    }
    this.#options.assertMayRun?.();
    if (this.#isEnabled()) return;
    throw new SandboxError("SANDBOX_DISABLED", "Sandboxes are switched off by the configuration", {
      hint: 'Set sandbox.enabled to true and sandbox.mode to "per-session". Code never runs outside a sandbox instead.',
    });
  }
}

/**
 * One session, wherever it runs. The library's `Sandbox` and the client's `Session` both implement this, so that code written
 * against it runs locally and on a server.
 */
export interface SandboxSession extends AsyncDisposable {
  /** The session's name: with it the same files are found again. */
  readonly sessionId: string;
  readonly files: SandboxSessionFiles;
  readonly contexts: SandboxSessionContexts;
  readonly snapshots: SandboxSessionSnapshots;
  readonly processes: SandboxSessionProcesses;
  readonly terminals: SandboxSessionTerminals;
  readonly ports: SandboxSessionPorts;
  /** Runs a program given as text. Await the result, or iterate the events. */
  runCode(code: string, options: SessionCodeOptions): SessionExecution;
  /** Runs a command: a list without a shell, a text by one. Await the result, or iterate the events. */
  exec(command: string | readonly string[], options?: SessionRunOptions): SessionExecution;
  /** Makes another session with the files of now, or of a snapshot. CONFLICT: there is a session of that `sessionId`. */
  fork(options?: { readonly sessionId?: string; readonly snapshotId?: string }): Promise<SandboxSession>;
  /**
   * Lets go of the session; disposing does the same. Its files stay, and other handles of it go on. What this handle still waits
   * for ends, and any later use of it is SANDBOX_NOT_RUNNING. Processes, terminals and contexts go on while something holds the
   * session: in the library another handle, on a server the server, until the session expires.
   */
  close(): Promise<void>;
  /** Ends the session for every handle: what runs in it stops, and its files are removed. */
  delete(): Promise<void>;
}

export interface SessionRunOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** A path inside; relative ones start at the workspace. */
  readonly cwd?: string;
  readonly stdin?: string | Uint8Array;
  readonly timeoutMs?: number;
  /** Ends what runs, which then rejects with CANCELLED. */
  readonly signal?: AbortSignal;
}

/** The same of a program, and what only a program has. */
export interface SessionCodeOptions extends SessionRunOptions {
  readonly language: string;
  /** What tracebacks call it. */
  readonly filename?: string;
  readonly args?: readonly string[];
}

/** What happened. A non-zero exit is a result, not an exception. */
export interface SessionResult {
  /** Of its JSON, which is the same everywhere. */
  readonly version: number;
  readonly success: boolean;
  readonly reason: string;
  readonly exitCode: number | null;
  /** "SIGKILL", or null when it exited. */
  readonly signal: string | null;
  /** Empty where the execution was iterated while it ran: the events had it. */
  readonly stdout: string;
  readonly stderr: string;
  /** The bytes of `stdout`, where they are not all UTF-8; `bytes()` of the execution has them in any case. */
  readonly stdoutBase64?: string;
  readonly stderrBase64?: string;
  /** True when output was cut. */
  readonly truncated: boolean;
  readonly executionTimeMs: number;
  readonly cpuTimeMs: number;
  readonly memoryUsedMb: number;
  readonly sessionId: string;
  /** Created or modified, relative to the workspace, sorted. */
  readonly filesWritten: readonly string[];
  readonly filesDeleted: readonly string[];
  /** What code in a context showed. */
  readonly results?: readonly {
    readonly data: Readonly<Record<string, unknown>>;
    readonly isMain: boolean;
  }[];
  /** One line for a person when it did not succeed. */
  readonly error?: string;
}

/** What happens while something runs, in the order it happens. The last event is the exit. */
export type SessionEvent =
  | { readonly type: "started" }
  /** What it printed: as text, in which a character is never cut, and as the bytes themselves. */
  | { readonly type: "stdout" | "stderr"; readonly text: string; readonly data: Uint8Array }
  | { readonly type: "result"; readonly result: NonNullable<SessionResult["results"]>[number] }
  | { readonly type: "exit"; readonly result: SessionResult }
  | { readonly type: "execution" };

/**
 * Something on its way: await it for its result, or iterate it for its events. Events come as they happen, to a loop that begins
 * later too, and a loop that is slow holds the program back. A second loop gets the exit only. Leaving the loop ends what
 * runs: awaited, it is CANCELLED.
 */
export interface SessionExecution extends PromiseLike<SessionResult>, AsyncIterable<SessionEvent> {
  /** Its output as it was printed, without being read as text; empty where it was iterated while it ran: the events had it. */
  bytes(): Promise<{ readonly stdout: Uint8Array; readonly stderr: Uint8Array }>;
  catch<B = never>(onRejected: (error: unknown) => B | PromiseLike<B>): Promise<SessionResult | B>;
  finally(onFinally: () => void): Promise<SessionResult>;
}

/** Files of a session. Paths are relative to the workspace. */
export interface SandboxSessionFiles {
  list(directory?: string, options?: { readonly recursive?: boolean }): AsyncIterable<SessionFile>;
  /** As text. */
  read(path: string): Promise<string>;
  readBytes(path: string): Promise<Uint8Array>;
  /** As it comes, without being kept in memory. */
  readStream(path: string): Promise<ReadableStream<Uint8Array>>;
  /** Whole or not at all; missing directories are made. */
  write(path: string, content: string | Uint8Array | Blob | ReadableStream<Uint8Array>): Promise<void>;
  /** With `recursive` also a directory and all that is in it. */
  remove(path: string, options?: { readonly recursive?: boolean }): Promise<void>;
  /** FILE_EXISTS: something is at `to` already. */
  move(from: string, to: string): Promise<void>;
  /** With those above it; one that is there already is fine. */
  mkdir(directory: string): Promise<void>;
}

export interface SessionFile {
  readonly path: string;
  readonly type: "file" | "directory" | "symlink" | "other";
  readonly size: number;
  readonly mode: number;
  readonly modifiedAt: string;
}

/** Code that keeps its state between runs. */
export interface SandboxSessionContexts {
  /** CONFLICT: there is one of that name. */
  create(options?: { readonly id?: string; readonly language?: string }): Promise<SessionContext>;
  list(): Promise<readonly { readonly id: string; readonly language: string }[]>;
  /** One by its name, without asking whether it is there: using one that was not made is CONTEXT_NOT_FOUND. */
  get(id: string): SessionContext;
}

/** One context. Only Python's have checkpoints and forks. */
export interface SessionContext {
  readonly id: string;
  run(
    code: string,
    options?: { readonly stdin?: string; readonly timeoutMs?: number; readonly signal?: AbortSignal },
  ): SessionExecution;
  /** Ends the code that runs, whose result says `cancelled`; the context goes on. False: nothing ran. */
  interrupt(): Promise<boolean>;
  /** Starts it again, with an empty state. */
  restart(): Promise<void>;
  /** Keeps the live state; with `files` the workspace's, too. */
  checkpoint(options?: { readonly files?: boolean }): Promise<{ readonly id: string }>;
  rollback(checkpoint: string | { readonly id: string }): Promise<unknown>;
  /** Another context with the state of now. */
  fork(): Promise<SessionContext>;
  delete(): Promise<void>;
}

/** A session's files as they were. */
export interface SandboxSessionSnapshots {
  create(options?: { readonly name?: string }): Promise<SessionSnapshot>;
  /** The newest first. */
  list(): Promise<readonly SessionSnapshot[]>;
  /** Makes the files what they were. */
  restore(
    snapshot: string | { readonly id: string },
  ): Promise<{ readonly written: number; readonly removed: number; readonly unchanged: number }>;
  /** As an uncompressed tar. */
  export(snapshot: string | { readonly id: string }): Promise<ReadableStream<Uint8Array>>;
  import(
    archive: Uint8Array | Blob | ReadableStream<Uint8Array>,
    options?: { readonly name?: string },
  ): Promise<SessionSnapshot>;
  /** SNAPSHOT_NOT_FOUND: there is none of that id. */
  delete(snapshot: string | { readonly id: string }): Promise<void>;
}

export interface SessionSnapshot {
  readonly id: string;
  readonly name?: string;
  readonly createdAt: string;
  readonly files: number;
  readonly bytes: number;
}

/** Programs and commands that go on beside other calls, whichever handle of the session started them. */
export interface SandboxSessionProcesses {
  /** Aborting the `signal` kills it, also when it runs. */
  exec(command: string | readonly string[], options?: SessionRunOptions): Promise<SessionProcess>;
  runCode(code: string, options: SessionCodeOptions): Promise<SessionProcess>;
  /** The oldest first, also the last that have ended. */
  list(): Promise<readonly (SessionCall & { readonly command: string })[]>;
  /** One by its id, without asking whether it is there: using one that is not, or was deleted, is NOT_FOUND. */
  get(id: string): SessionProcess;
}

/** A process or a terminal, as it is listed. */
export interface SessionCall {
  readonly id: string;
  readonly state: string;
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly reason?: string;
  readonly exitCode?: number | null;
  readonly signal?: string | null;
  readonly error?: string;
}

export interface SessionProcess {
  readonly id: string;
  info(): Promise<SessionCall & { readonly command: string }>;
  /** What is kept of what it printed, then what it prints, until it ends. It never waits for a reader: `dropped` is what is gone. */
  follow(): AsyncIterable<SessionProcessEvent>;
  /** Its result, once it has ended; `follow` has its output. */
  wait(): Promise<SessionResult>;
  /** To it and everything in its group. CONFLICT: it has ended. */
  signal(signal: "SIGHUP" | "SIGINT" | "SIGTERM" | "SIGKILL" | "SIGUSR1" | "SIGUSR2"): Promise<void>;
  /** Kills it, and forgets it. */
  delete(): Promise<void>;
}

export type SessionProcessEvent =
  | { readonly type: "stdout" | "stderr"; readonly text: string }
  | { readonly type: "dropped"; readonly bytes: number }
  | { readonly type: "exit"; readonly result: SessionResult };

/** Terminals, which outlive their connections. */
export interface SandboxSessionTerminals {
  open(options: {
    readonly rows: number;
    readonly columns: number;
    readonly argv?: readonly string[];
  }): Promise<SessionTerminal>;
  /** The oldest first, also the last that have ended. */
  list(): Promise<readonly SessionCall[]>;
  /** One by its id, without asking whether it is there: using one that is not, or was deleted, is NOT_FOUND. */
  get(id: string): SessionTerminal;
}

export interface SessionTerminal {
  readonly id: string;
  info(): Promise<SessionCall>;
  /** Sees what is kept of its output, then what comes. */
  connect(): Promise<SessionTerminalConnection>;
  /** Ends it. */
  delete(): Promise<void>;
}

/** Iterate it for the bytes that are on the screen. */
export interface SessionTerminalConnection extends AsyncIterable<Uint8Array> {
  /** What came of it, once the loop over it has ended. */
  readonly result: SessionResult | undefined;
  /** Types. */
  write(data: string | Uint8Array): void;
  resize(rows: number, columns: number): void;
  /** Leaves; the terminal goes on. */
  close(): void;
}

/** Ports that programs of the session listen on. Takes `sandbox.network.allowLocalBinding`. */
export interface SandboxSessionPorts {
  /** A request to what listens there; `path` begins with a slash. PORT_FAILED: nothing listens. */
  fetch(port: number, path: string, options?: SessionFetchOptions): Promise<Response>;
  /** The bytes of one connection, both ways. */
  connect(port: number): Promise<{
    readonly readable: ReadableStream<Uint8Array>;
    readonly writable: WritableStream<Uint8Array>;
  }>;
}

/** What `fetch` takes, too. */
export interface SessionFetchOptions {
  readonly method?: string;
  /** A server passes on those that describe the request, such as `accept`, and no credentials. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array | Blob | ReadableStream<Uint8Array>;
  readonly signal?: AbortSignal;
}

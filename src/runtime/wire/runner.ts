import type { Duplex, Readable, Writable } from "node:stream";

/** One command, as the guest is asked to run it. */
export interface RunRequest {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** A pseudo-terminal of this size instead of three pipes. */
  readonly terminal?: { readonly rows: number; readonly columns: number };
  /** The language of the program, where it is one: its image may be another than the commands'. */
  readonly language?: string;
  /** Hand the job to this warm interpreter if it is ready; otherwise `argv` runs. */
  readonly warm?: { readonly id: number; readonly job: string };
  /** Give it a socket to the host as its descriptor 3. */
  readonly control?: boolean;
  /** Run it in a cell of its own, in a sandbox that makes them. */
  readonly cell?: CellRequest;
}

/** A cell: namespaces, an empty workspace and temporary files of its own, for one program. */
export interface CellRequest {
  readonly limits: CellLimits;
  /** A file that it finds in its workspace. */
  readonly file?: { readonly path: string; readonly content: Uint8Array };
}

/** Left out: none of its own, within those of the sandbox. */
export interface CellLimits {
  readonly workspaceBytes?: number;
  readonly workspaceFiles?: number;
  /** Of /tmp and of /dev/shm, each. */
  readonly temporaryBytes?: number;
  /** Of each process. */
  readonly memoryBytes?: number;
  readonly processes?: number;
  readonly fileBytes?: number;
}

/** How a command ended, as the guest tells it: statistics, never grounds for a security decision. */
export interface RunExit {
  readonly exitCode: number | null;
  readonly signal: number | null;
  readonly cpuTimeMs: number;
  readonly memoryKb: number;
  /** False when processes of this command could not all be killed: the sandbox must be destroyed. */
  readonly clean: boolean;
  /** True when a warm interpreter ran it. */
  readonly warm: boolean;
}

/** A command that has been sent to the guest. */
export interface RunHandle {
  /** Resolves when the process exists; rejects with COMMAND_NOT_FOUND and the like. */
  readonly started: Promise<{ readonly pid: number; readonly warm: boolean }>;
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Empty for a terminal: both streams arrive on stdout. */
  readonly stderr: Readable;
  /** Resolves after the last byte of output was pushed; rejects if the sandbox is lost. */
  readonly exit: Promise<RunExit>;
  signal(signo: number): void;
  /** Kills the command and everything it started. `exit` resolves afterwards. */
  kill(): void;
  resize(rows: number, columns: number): void;
  /** The host's end of its descriptor 3, where that was asked for. */
  readonly control?: Duplex;
  /** Resolves when everything that it had printed by now was pushed; also when it has ended. */
  drain(): Promise<void>;
  /**
   * Has it fork itself: it reads the order from its control socket, and with it gets a socket on which the fork takes jobs,
   * as a warm interpreter does.
   */
  freeze(order: Uint8Array): WarmHandle;
}

/** Keeps an interpreter started: `fork` serves many jobs, `single` one. */
export interface WarmRequest {
  readonly argv: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly kind: "fork" | "single";
  readonly language?: string;
  /** It puts every job into a cell of its own, in a sandbox that makes them. */
  readonly makesCells?: boolean;
}

export interface WarmHandle {
  readonly id: number;
  /** Resolves when it can take a job; rejects when it died first. */
  readonly ready: Promise<void>;
  /** Resolves when it is gone, with what it said last. */
  readonly gone: Promise<string>;
  stop(): void;
}

/**
 * What can be done inside a running sandbox. The guest's wire implements it; a system with an agent of its own
 * implements it in its backend.
 */
export interface Runner {
  run(request: RunRequest): RunHandle;
  warm(request: WarmRequest): WarmHandle;
  /** Reads a regular file inside, without following a link at its end. */
  readFile(path: string): Readable;
  /** Writes a regular file inside, creating parent directories; resolves when it is closed. */
  writeFile(path: string, mode: number, content: Readable | Uint8Array): Promise<void>;
  /** A connection to a TCP port on the sandbox's loopback. */
  connect(port: number): Promise<Duplex>;
  /** Accepts connections that programs inside make to a loopback port. Resolves when it listens. */
  listen(port: number, onConnection: (stream: Duplex) => void): Promise<void>;
  /** Resolves when the guest answered. */
  ping(): Promise<void>;
  /** Resolves when the wire is closed, with the reason if it was not us. */
  readonly closed: Promise<Error | undefined>;
  close(reason?: Error): void;
}

import type { SandboxError } from "../../../kit/errors.js";
import type {
  FileChange,
  Harness,
  RunningSandbox,
  SandboxFiles,
  TerminalInput,
} from "../../../runtime/sandbox/index.js";
import type { CellOptions } from "../manager-options.js";

/** How a call is done. Exactly one of these, so that a step of the call asks once. */
export type CallKind =
  /** A program or a command; the caller waits for its end. */
  | { readonly type: "plain" }
  /** A command on a terminal: nothing can tell in advance what will be typed into it. */
  | { readonly type: "terminal"; readonly terminal: TerminalInput }
  /** A program or a command that goes on beside other calls, with no time limit of its own. */
  | { readonly type: "background" }
  /** Code in a context of the session, which keeps its state. */
  | { readonly type: "context"; readonly name: string }
  /** Code in a cell: it sees nothing of the session, and leaves nothing. */
  | { readonly type: "cell"; readonly options: true | CellOptions }
  /** Code that a harness runs, in a sandbox that is thrown away. */
  | { readonly type: "harness"; readonly harness: CallHarness }
  /** Nothing runs: something is done to the session's files. The call's `files` is what it will write. */
  | { readonly type: "files"; readonly task: FileTask };

export const PLAIN: CallKind = { type: "plain" };

/** A part of a call that carries code. */
export interface CallPart {
  /** Empty for the program or command itself, otherwise the path of an input file. */
  readonly name: string;
  readonly text: string;
  readonly language: string;
}

/**
 * Runs a call's code by a harness instead of as a program, in a sandbox that is thrown away; of a session the call has the
 * name only. Policy, person and audit record see the code, never the harness.
 */
export interface CallHarness extends Harness {
  /** What the record calls it. */
  readonly name: string;
  /** Code that the harness is told besides the call's own: assessed and shown like it. */
  readonly scripts?: readonly CallPart[];
  /**
   * Awaited when the call is authorized, before there is a sandbox. Reject to end the call: one that belongs to another
   * does not run without it. `isolates`: whether the backend isolates.
   */
  mayStart?(about: { readonly isolates: boolean }): Promise<void>;
}

export interface TouchedPath {
  readonly path: string;
  readonly access: "read" | "write";
}

/** A session's files as a call may see them. */
export interface GuardedFiles {
  readonly files: SandboxFiles;
  /** False: the policy hides this one, also from a listing or a search. */
  maySee(path: string): boolean;
  /** Says what was done to a file, for the result and the record. */
  changed(path: string, change: FileChange["change"]): void;
}

/** What a call without a program does in the sandbox. */
export interface FileTask {
  /** One line that says what it does: for the person who is asked, and for the record. */
  readonly summary: string;
  /** Every file that it touches, for the policy. */
  readonly paths: readonly TouchedPath[];
  /** Why it cannot be done at all, known beforehand: it is recorded like any call, and thrown. */
  readonly refusal?: SandboxError | undefined;
  /** True: the call's `files` are put in place first, as the input files of a program are. */
  readonly isPlaced?: boolean | undefined;
  /** True: it reaches every file there is. Where the policy hides some of them, it is denied. */
  readonly touchesAllFiles?: boolean | undefined;
  /** True: a person decides, whatever policy and risk say; without one it is rejected. */
  readonly asksPerson?: boolean | undefined;
  readonly run: (files: GuardedFiles, sandbox: RunningSandbox) => Promise<void>;
}

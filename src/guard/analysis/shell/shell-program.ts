/** One redirection of a command. */
export interface ShellRedirect {
  readonly operator: string;
  /** After unquoting; undefined: known only when it runs. */
  readonly target: string | undefined;
}

/** One assignment in front of a command, `LD_PRELOAD=x ls`, or by it: `export LD_PRELOAD=x`. */
export interface ShellAssignment {
  readonly name: string;
  readonly value: string | undefined;
}

/** One command that a text would run. */
export interface ShellCommand {
  /** Base name after unquoting ("curl" for /usr/bin/curl, c\url, "cu"rl); undefined: known only when it runs. */
  readonly name: string | undefined;
  /** The name with its directory, as it was written; undefined: known only when it runs. */
  readonly path: string | undefined;
  /** Each argument after unquoting; undefined: known only when it runs. */
  readonly args: readonly (string | undefined)[];
  /** Positions in `args` of words with an unquoted `*`, `?` or `[`: the shell puts names of files there. */
  readonly patterns: readonly number[];
  /** 1-based, in the text given. */
  readonly line: number;
  readonly column: number;
  /** How it is reached, outermost first: "sh -c", "env", "$(…)", "alias ll", "python3 -c", "find -exec" … */
  readonly via: readonly string[];
  readonly redirects: readonly ShellRedirect[];
  /** Commands whose output it reads: those before it in the pipeline, and those of its `<(…)`. */
  readonly reads: readonly ShellCommand[];
  readonly assignments: readonly ShellAssignment[];
  /** A program of another language starts it, so it is a process, also where a shell has a builtin of that name. */
  readonly byProgram?: true;
}

/** A place that could not be read, so that commands may be missing. */
export interface ShellProblem {
  readonly line: number;
  readonly column: number;
  readonly what: string;
}

/** A place where a script starts itself twice (fork), or processes without an end (spawn). */
export interface ShellBomb {
  readonly kind: "fork" | "spawn";
  readonly line: number;
  readonly column: number;
}

export interface ShellProgram {
  readonly commands: readonly ShellCommand[];
  readonly problems: readonly ShellProblem[];
  readonly bombs: readonly ShellBomb[];
  /** Programs in languages with a reader of their own, which an interpreter is given as a word or on its input. */
  readonly programs?: readonly InlineProgram[];
}

export interface InlineProgram {
  readonly language: "python" | "javascript";
  readonly code: string;
  readonly line: number;
  readonly column: number;
}

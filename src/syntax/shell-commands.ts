/** One redirection of a command. */
export interface ShellRedirect {
  readonly operator: string;
  /** After unquoting; undefined: known only when it runs. */
  readonly target: string | undefined;
}

/** One assignment in front of a command: `LD_PRELOAD=x ls`. */
export interface ShellAssignment {
  readonly name: string;
  readonly value: string | undefined;
}

/** One command that a text would run. */
export interface ShellCommand {
  /** Base name after unquoting ("curl" for /usr/bin/curl, c\url, "cu"rl); undefined: known only when it runs. */
  readonly name: string | undefined;
  /** Each argument after unquoting; undefined: known only when it runs. */
  readonly args: readonly (string | undefined)[];
  /** 1-based, in the text given. */
  readonly line: number;
  readonly column: number;
  /** How it is reached, outermost first: "sh -c", "env", "$(…)", "alias ll", "python3 -c", "find -exec" … */
  readonly via: readonly string[];
  readonly redirects: readonly ShellRedirect[];
  /** Commands earlier in the same pipeline whose output it reads. */
  readonly reads: readonly ShellCommand[];
  readonly assignments: readonly ShellAssignment[];
}

/** A place that could not be read, so that commands may be missing. */
export interface ShellProblem {
  readonly line: number;
  readonly column: number;
  readonly what: string;
}

export interface ShellProgram {
  readonly commands: readonly ShellCommand[];
  readonly problems: readonly ShellProblem[];
}

export type CodeLanguage = "python" | "javascript" | "typescript" | "bash";

/** Everything a shell text would run, as far as can be known before it runs. */
export async function findCommands(_text: string): Promise<ShellProgram> {
  return NOT_YET;
}

/** Everything that the constant shell-outs of a program would run. */
export async function findCommandsOfCode(_code: string, _language: CodeLanguage): Promise<ShellProgram> {
  return NOT_YET;
}

const NOT_YET: ShellProgram = {
  commands: [],
  problems: [{ line: 1, column: 1, what: "commands are not looked into yet" }],
};

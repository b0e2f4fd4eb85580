import { SandboxError } from "./errors.js";

/**
 * How long code may be, in one table. Code that is too long to run is an error. Code that is too long to be analysed still
 * runs where the policy lets unknown code run: its length is a finding.
 */

/** Of a program or a command, however it comes: in a call, edited by a person, over HTTP or from a file. */
export const MAX_CODE_BYTES = 16 * 1024 * 1024;

/** Of a program in a cell: it travels in one message of the wire, with what else the cell is told. */
export const MAX_CELL_CODE_BYTES = 180 * 1024;

/** Of such a program where it is given to an interpreter that forks: it travels twice, should that fail. */
export const MAX_FORKED_CELL_CODE_BYTES = 100 * 1024;

/** Of a command line that the shell has as an argument, which the kernel limits with its end; a longer one becomes a file. */
export const MAX_COMMAND_ARGUMENT_BYTES = 128 * 1024 - 1;

/** Of a request in JSON, by default: code doubles where every character of it takes an escape. */
export const DEFAULT_BODY_BYTES = 2 * MAX_CODE_BYTES + 2 * 1024 * 1024;

/** Of code in an audit record; its hash is of all of it. */
export const MAX_RECORDED_CODE_CHARACTERS = 256 * 1024;

/** Of a command in an audit record. */
export const MAX_RECORDED_COMMAND_CHARACTERS = 16 * 1024;

/** Of what runs, in a list of processes. */
export const MAX_LISTED_COMMAND_CHARACTERS = 500;

/** Of a program that is analysed. */
export const MAX_ANALYZED_CODE_CHARACTERS = 128 * 1024;

/** Of a shell text that is analysed: a hostile one takes time by more than its length. */
export const MAX_ANALYZED_SHELL_CHARACTERS = 32 * 1024;

/** Of an input file, from its start: what is shown to a person, and enough for the analysis to see that it is too long. */
export const MAX_INPUT_CHARACTERS = 2 * MAX_ANALYZED_CODE_CHARACTERS;

/** Refuses code that is too long to run: a text, or its bytes in UTF-8. `name` is what the code is called. */
export function checkCodeSize(code: string | number, name = "The code"): void {
  if (!isTooLongToRun(code)) return;
  throw new SandboxError("FILE_TOO_LARGE", `${name} has more than ${MAX_CODE_BYTES / 1024 / 1024} MiB`, {
    hint: "Put its data into files.",
  });
}

export function isTooLongToRun(code: string | number): boolean {
  return (typeof code === "number" ? code : Buffer.byteLength(code)) > MAX_CODE_BYTES;
}

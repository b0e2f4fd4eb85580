import { SandboxError } from "./errors.js";

/**
 * How long code may be, in one table. Code that is too long to run is an error. Code that is too long to be analysed still
 * runs where the policy lets unknown code run: its length is a finding.
 */

/** Of a program or a command, however it comes: in a call, edited by a person, over HTTP or from a file. */
export const MAX_CODE_BYTES = 16 * 1024 * 1024;

/** Of a program in a cell: it travels in one message of the wire, with what else the cell is told. */
export const MAX_CELL_CODE_BYTES = 180 * 1024;

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

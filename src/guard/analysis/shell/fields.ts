import type { ShellCommand } from "./shell-program.js";

/** Stands in a text for a value that is known only when it runs. A text that holds it by itself is as unknown. */
export const UNKNOWN = "\ue000";
/** The same for an unquoted value, which may also be several words or none. */
export const UNKNOWN_WORDS = "\ue001";

const ANY_UNKNOWN = /[\ue000\ue001]/;

/** One word after expansion. */
export interface Field {
  readonly text: string;
  /** Unquoted `*`, `?` or `[`: the shell puts the names of files here. */
  readonly pattern: boolean;
  /** Of `<(…)`: what the file it names holds. */
  readonly content?: Content;
}

/** Bytes that one command hands to another. */
export interface Content {
  /** With unknown places; undefined: nothing of it is known. */
  readonly text: string | undefined;
  /** The commands that make it. */
  readonly from: readonly ShellCommand[];
}

export function isKnown(text: string): boolean {
  return !ANY_UNKNOWN.test(text);
}

/** The text, or undefined when part of it is known only when it runs. */
export function known(text: string): string | undefined {
  return isKnown(text) ? text : undefined;
}

/** True when it may turn out to be an option, several words, or nothing. */
export function startsUnknown(field: Field): boolean {
  return ANY_UNKNOWN.test(field.text.charAt(0)) || field.text.includes(UNKNOWN_WORDS);
}

/** The name of a command without its directory; undefined: known only when it runs. */
export function baseName(field: Field): string | undefined {
  if (field.text.includes(UNKNOWN_WORDS)) return undefined;
  const base = field.text.slice(field.text.lastIndexOf("/") + 1);
  // Of a process, or as zsh reads "=curl": another name for a program.
  if (/^\/proc\/|^=\w|^\$[~=]/.test(field.text)) return undefined;
  if (!isKnown(base) || (field.pattern && /[*?[]/.test(base))) return undefined;
  return base;
}

export function plain(text: string): Field {
  return { text, pattern: false };
}

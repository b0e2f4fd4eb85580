import { LANGUAGES, REASONS } from "../../runtime/sandbox/index.js";

/** What a label says for an unknown value: a caller's text never becomes a series of its own. */
const OTHER = "other";
/** The label of an execution that has no language, such as reading a file. */
const NONE = "none";

/** Tools that have a series without being announced. */
export const KNOWN_TOOLS = [
  "run_code",
  "run_tests",
  "shell_exec",
  "file_read",
  "file_write",
  "file_edit",
  "file_list",
  "file_delete",
  "file_search",
  "browser_automation",
  "system_admin",
  "network_scan",
  "network",
] as const;

/** `success` and `error` of the tools' results, and why an execution ended. */
export const KNOWN_STATUSES: readonly string[] = ["success", "error", "interrupted", ...REASONS];

/** Why a policy was violated, by what it forbade. */
export const KNOWN_VIOLATIONS = [
  "tool",
  "role",
  "language",
  "command",
  "path",
  "network",
  "domain",
  "limit",
  "risk",
  "backend",
  "unenforceable",
  "unparsable",
  "confirmation",
] as const;

export const POOL_STATUSES = ["idle", "acquiring", "busy"] as const;
export const NETWORK_VERDICTS = ["allowed", "denied", "failed"] as const;
export type NetworkVerdict = (typeof NETWORK_VERDICTS)[number];
export const NETWORK_DIRECTIONS = ["sent", "received"] as const;
export const ALERT_RESOURCES = ["cpu", "memory"] as const;
export type AlertResource = (typeof ALERT_RESOURCES)[number];

/** A language's own name for any of its names; `none` where there is none. */
export function languageLabel(value: string | undefined): string {
  if (value === undefined) return NONE;
  const wanted = value.slice(0, 64).toLowerCase();
  return LANGUAGES.find(({ name, aliases }) => name === wanted || aliases.includes(wanted))?.name ?? OTHER;
}

/** Values that may stand in a label; any other is `other`. Takes at most `maxAdded` more than it starts with. */
export class LabelSet {
  readonly #values: Set<string>;
  readonly #capacity: number;

  constructor(known: readonly string[], maxAdded = 0) {
    this.#values = new Set(known);
    this.#capacity = this.#values.size + maxAdded;
  }

  /** False when there is no room, or it could not be read in a list of labels. */
  add(value: string): boolean {
    if (this.#values.has(value)) return true;
    if (this.#values.size >= this.#capacity || !/^[\w.:-]{1,64}$/.test(value)) return false;
    this.#values.add(value);
    return true;
  }

  of(value: string): string {
    return this.#values.has(value) ? value : OTHER;
  }
}

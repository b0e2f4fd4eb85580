import { DEFAULT_USER_RANGE } from "../linux/user-range.js";

export interface BubblewrapConfig {
  /** Of the program. Left out: looked up. */
  readonly path?: string;
  /** When root runs us, each sandbox gets a user of its own from this range. */
  readonly uidRange: { readonly start: number; readonly count: number };
}

/** What no configuration means. */
export const BUBBLEWRAP_DEFAULTS: BubblewrapConfig = { uidRange: DEFAULT_USER_RANGE };

export interface BubblewrapConfig {
  /** Of the program. Left out: looked up. */
  readonly path?: string;
  /** When root runs us, each sandbox gets a user of its own from this range. */
  readonly uidRange: { readonly start: number; readonly count: number };
}

/** What no configuration means. */
export const BUBBLEWRAP_DEFAULTS: BubblewrapConfig = { uidRange: { start: 1_900_000_000, count: 65_536 } };

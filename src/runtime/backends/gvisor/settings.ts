/** Docker with another runtime; everything else is the docker block's. */
export interface GvisorConfig {
  readonly runtime: string;
}

/** What no configuration means. */
export const GVISOR_DEFAULTS: GvisorConfig = { runtime: "runsc" };

/** Limits of one sandbox's egress. */
export interface EgressLimits {
  /** Connections from the sandbox at once. */
  readonly maxConnections: number;
  /** Of one request or response. */
  readonly maxHeaderBytes: number;
  /** A connection on which nothing passes for this long is closed. */
  readonly idleMs: number;
  /** For a client to say what it wants, from the first byte on. */
  readonly headMs: number;
  readonly connectMs: number;
  /** For a host to begin its answer. */
  readonly responseMs: number;
  /** To and from hosts together, over the sandbox's life. */
  readonly maxBytes: number;
}

export const DEFAULT_LIMITS: EgressLimits = {
  maxConnections: 128,
  maxHeaderBytes: 32 * 1024,
  idleMs: 2 * 60_000,
  headMs: 10_000,
  connectMs: 10_000,
  responseMs: 2 * 60_000,
  maxBytes: Number.POSITIVE_INFINITY,
};

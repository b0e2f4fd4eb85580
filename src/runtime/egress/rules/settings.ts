/** Nothing is allowed unless it is named. What is denied is denied whatever allows it. */
export interface NetworkConfig {
  /** A name, or `*.name` for all names below it. */
  readonly allowedDomains: readonly string[];
  readonly deniedDomains: readonly string[];
  /** Addresses and ranges. Those that are not of the public Internet are reached only where they are named here. */
  readonly allowedIps: readonly string[];
  readonly deniedIps: readonly string[];
  readonly allowedPorts: readonly number[];
  readonly deniedPorts: readonly number[];
  /** Hosts that are allowed for some requests only. */
  readonly requests: readonly RequestConfig[];
  /** A file of certificates (PEM) that are trusted besides the usual ones, in TLS that Skerry opens itself. */
  readonly upstreamCa?: string;
  /** Of one sandbox. */
  readonly limits: {
    readonly connections: number;
    /** Sent and received together. Left out: no limit. */
    readonly bytes?: number;
    /** A connection on which nothing moved for this long is closed. */
    readonly idleMs: number;
  };
  readonly allowLocalBinding: boolean;
  /** Package managers and git: the hosts that their own configuration on this machine names. */
  readonly allow: readonly ClientName[];
  /** Every public host. */
  readonly internet: boolean;
}

export const CLIENT_NAMES = ["pip", "npm", "git", "cargo", "go"] as const;
export type ClientName = (typeof CLIENT_NAMES)[number];

/** Requests that can be read: plain HTTP, and HTTPS to the hosts of secrets. */
export interface RequestConfig {
  /** A name, `*.name` or an address. */
  readonly host: string;
  /** Left out: `allowedPorts`. */
  readonly ports?: readonly number[];
  /** Left out: every method. */
  readonly methods?: readonly string[];
  /** Globs: `*` within a segment, `**` across them. Left out: every path. */
  readonly paths?: readonly string[];
}

export const SECRET_LOCATIONS = ["header", "query", "body"] as const;
export type SecretLocation = (typeof SECRET_LOCATIONS)[number];

/** A secret that never enters a sandbox: egress replaces its placeholder. */
export interface SecretConfig {
  /** Where it may go: names, or `*.name`. */
  readonly hosts: readonly string[];
  /** The variable of this process that has the value. Exactly one of this and `file` is there. */
  readonly env?: string;
  readonly file?: string;
  /** Where in a request its placeholder is replaced. */
  readonly in: readonly SecretLocation[];
}

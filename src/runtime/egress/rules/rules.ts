import type { RequestConfig } from "./settings.js";

/** One entry of a list, with the words that tell a person where it stands: "sandbox.network.allowedDomains[0]". */
export interface RuleEntry<T> {
  readonly value: T;
  readonly rule: string;
}

/** A request of plain HTTP, or of TLS that egress terminates, that an entry is narrowed to. Methods are in upper case. */
export type RequestRule = RequestConfig;

/**
 * What may be reached. Nothing is allowed unless it is named; what is denied is denied whatever allows it. Addresses that
 * lead back to this machine, to its network or to a cloud's metadata are reached only where `allowedIps` names them.
 */
export interface EgressRules {
  readonly allowedDomains: readonly RuleEntry<string>[];
  readonly deniedDomains: readonly RuleEntry<string>[];
  /** Addresses and ranges in CIDR notation. */
  readonly allowedIps: readonly RuleEntry<string>[];
  readonly deniedIps: readonly RuleEntry<string>[];
  /** Left out: the set says nothing about ports. Where no set does, they are `DEFAULT_PORTS`. */
  readonly allowedPorts?: readonly RuleEntry<number>[];
  readonly deniedPorts: readonly RuleEntry<number>[];
  /** Hosts that are allowed for some requests only. Names here need no entry in `allowedDomains`. */
  readonly requests: readonly RuleEntry<RequestRule>[];
  /** Every public host is open, by this rule. */
  readonly internet?: string;
  /** Hosts that this machine's own configuration names: their addresses may be private ones, at this port only. */
  readonly ownHosts?: readonly RuleEntry<HostAndPort>[];
  /** Variables with which the usual clients inside find these hosts. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The same as files, for clients that read no variables. */
  readonly files?: readonly GuestFile[];
  /** What a denial names when no entry allows: "sandbox.network.allowedDomains". */
  readonly origin: string;
  /** The same for an address and for a port. Left out: `origin`. */
  readonly ipsOrigin?: string;
  readonly portsOrigin?: string;
  /** How a person opens a host, as the maker of the rules calls it: told where nothing at all is allowed. */
  readonly remedy?: (host: string) => string;
  /** It says which ports are open and what is denied; the rest is for the other sets to decide. Without one, nothing is allowed. */
  readonly deniesOnly?: boolean;
}

export interface HostAndPort {
  readonly host: string;
  readonly port: number;
}

/** A file that a sandbox has from the moment something may be reached. */
export interface GuestFile {
  readonly path: string;
  readonly text: string;
}

/** One set of rules, or several that all have to allow. */
export type RuleSets = EgressRules | readonly EgressRules[];

/** Ports that are open to allowed hosts where no rule says otherwise. */
export const DEFAULT_PORTS = [80, 443] as const;

/** The answer about one connection or request. */
export interface EgressDecision {
  readonly allowed: boolean;
  /** The rule that decided. */
  readonly rule: string;
  /** One line for the agent: "evil.example is not allowed by rule sandbox.network.allowedDomains". */
  readonly why: string;
}

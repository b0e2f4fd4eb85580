/**
 * One connection or request that a sandbox asked for, told when it is over: every verdict is one of these. What is open
 * for long is told while it is (`open`), and again when it is over.
 */
export interface EgressEvent {
  readonly at: Date;
  /** How it was asked for. `https`: a request inside TLS that egress terminated. */
  readonly via: "http" | "https" | "connect" | "socks";
  /** Canonical, or made visible where it is none. */
  readonly host: string;
  readonly port: number;
  /** The address that was dialled. */
  readonly address?: string;
  /** Of a request that egress could read; the path is without its query, which may hold what is private. */
  readonly method?: string;
  readonly path?: string;
  readonly verdict: "allowed" | "denied" | "failed";
  readonly rule: string;
  /** The line that the agent was told, or why it ended. */
  readonly why: string;
  readonly bytesSent: number;
  readonly bytesReceived: number;
  readonly durationMs: number;
  /** Names of secrets that were put in, or that would have left for a host which is not theirs. */
  readonly secrets?: readonly string[];
  /** It goes on. Its bytes are told at its end, which is another event: this one has none. */
  readonly open?: boolean;
  /** How many of the same kind this one stands for, when they came too fast to be told one by one. */
  readonly count?: number;
}

/** Bytes of payload, as they passed between the sandbox and the hosts. */
export interface EgressTotals {
  readonly bytesSent: number;
  readonly bytesReceived: number;
}

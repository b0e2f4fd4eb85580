import type { Transform } from "node:stream";
import type { SecureContext } from "node:tls";

/** A header and its value, in the order and the spelling in which they came. */
export type HttpHeader = readonly [name: string, value: string];

/** A request for a host, before secrets are put in. */
export interface OutgoingRequest {
  readonly host: string;
  readonly port: number;
  /** Over TLS whose certificate is verified. */
  readonly secure: boolean;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: readonly HttpHeader[];
}

/** The request as it leaves, or why it must not. */
export type PreparedRequest =
  | {
      readonly ok: true;
      readonly path: string;
      readonly headers: readonly HttpHeader[];
      /** Names of the secrets that were put in. It grows while the body passes. */
      readonly used: readonly string[];
      /** The body goes through it; one that changes lengths needs headers without content-length. */
      readonly body?: Transform;
      /** What comes back goes through these: a host may repeat what it was told. */
      readonly response?: EdgeResponse;
    }
  | { readonly ok: false; readonly why: string; readonly secrets: readonly string[] };

/** How an answer comes in without the values that it may repeat. */
export interface EdgeResponse {
  /** Before the body is asked for; also for trailers. */
  headers(headers: readonly HttpHeader[]): readonly HttpHeader[];
  /** A reason phrase. */
  text(text: string): string;
  /**
   * Also for what follows an upgrade. Its length may differ: the headers above are without content-length. It fails with
   * SecretLeak for what cannot be looked into.
   */
  body(): Transform;
}

/** A placeholder was about to leave where no secret is put in, or an answer to tell something of a value. */
export class SecretLeak extends Error {
  constructor(
    message: string,
    readonly secrets: readonly string[],
  ) {
    super(message);
  }
}

/** Secrets of one sandbox, as its egress proxy sees them. */
export interface EdgeSecrets {
  /** True: TLS to this host is terminated, because a secret is meant for it. */
  terminates(host: string): boolean;
  /** The context that the sandbox's TLS client gets for a host. */
  secureContext(host: string): Promise<SecureContext>;
  /** Puts secrets into a request, or says why it must not leave. */
  request(request: OutgoingRequest): PreparedRequest;
  /** Scans what no secret belongs in, such as an opaque tunnel; it fails with SecretLeak when a placeholder passes. */
  guard(): Transform | undefined;
}

import type { Transform } from "node:stream";
import type { SecureContext } from "node:tls";
import { inspect } from "node:util";
import { SandboxError } from "../../../kit/errors.js";
import type { CertificateAuthority } from "../certificates/authority.js";
import { type EdgeSecrets, type OutgoingRequest, type PreparedRequest, SecretLeak } from "./edge-secrets.js";
import { GuessCounter } from "./guess-counter.js";
import { scrubber } from "./scrub.js";
import { PLACEHOLDER_START, type PlacedSecret, placeSecret, type Secret } from "./secret.js";
import { replaceText, StreamReplace } from "./stream-replace.js";
import { prepare } from "./substitute.js";
import { echoesOf } from "./value-encodings.js";

/** The secrets of one sandbox, each with its own placeholder. Nothing that prints or serialises it shows a value. */
export class SecretSet implements EdgeSecrets {
  readonly #placed: readonly PlacedSecret[];
  readonly #authority: CertificateAuthority;
  readonly #guesses = new GuessCounter();

  constructor(secrets: readonly Secret[], authority: CertificateAuthority) {
    const twice = secrets.find(({ name }, index) => secrets.findIndex((each) => each.name === name) < index);
    if (twice !== undefined) {
      throw new SandboxError(twice.origin.code, `The secret ${twice.name} is given twice`, {
        hint: "Give it once, with all of its hosts.",
      });
    }
    this.#placed = secrets.map(placeSecret);
    this.#authority = authority;
  }

  /** The variables inside: each secret's name with its placeholder. */
  placeholders(): Record<string, string> {
    return Object.fromEntries(this.#placed.map(({ secret, placeholder }) => [secret.name, placeholder]));
  }

  /** Text in which placeholders take the place of values, for what is recorded or shown. */
  redact(text: string): string {
    const replacements = this.#placed.flatMap(({ secret, placeholder }) =>
      echoesOf(secret.reveal()).map((find) => ({ find, by: () => Buffer.from(placeholder) })),
    );
    const bytes = Buffer.from(text, "utf8").toString("latin1");
    return Buffer.from(replaceText(bytes, replacements), "latin1").toString("utf8");
  }

  terminates(host: string): boolean {
    return this.#placed.some(({ secret }) => secret.isFor(host));
  }

  async secureContext(host: string): Promise<SecureContext> {
    // Certificates are made for hosts that the user named, not for whatever a program asks for.
    if (!this.terminates(host)) throw new SandboxError("INTERNAL", "No secret is for this host");
    return await this.#authority.secureContext(host);
  }

  request(request: OutgoingRequest): PreparedRequest {
    const mine = this.#placed.filter(({ secret }) => secret.isFor(request.host));
    const closed = mine.find(({ secret }) => this.#guesses.isClosed(secret.name))?.secret.name;
    if (closed !== undefined) {
      const why = `the secret ${closed} was guessed at: its hosts are closed to this sandbox`;
      return { ok: false, why, secrets: [closed] };
    }
    const prepared = prepare(request, this.#placed);
    if (!prepared.ok) return prepared;
    const { echoes, ...outcome } = prepared;
    if (mine.length === 0) return outcome;
    return { ...outcome, response: scrubber(request.method, mine, echoes, this.#guesses) };
  }

  guard(): Transform | undefined {
    if (this.#placed.length === 0) return undefined;
    const replacements = this.#placed.map(({ secret, placeholder }) => ({
      find: Buffer.from(placeholder),
      by: () => new SecretLeak(`the secret ${secret.name} cannot be put in here`, [secret.name]),
    }));
    return new StreamReplace(replacements, { releaseUpTo: PLACEHOLDER_START.length });
  }

  toJSON(): { secrets: readonly Secret[] } {
    return { secrets: this.#placed.map(({ secret }) => secret) };
  }

  [inspect.custom](): string {
    return `SecretSet of ${this.#placed.map(({ secret }) => secret.name).join(", ")}`;
  }
}

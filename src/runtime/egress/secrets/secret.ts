import { randomBytes } from "node:crypto";
import { inspect } from "node:util";
import { type ErrorCode, SandboxError } from "../../../kit/errors.js";
import { shown } from "../rules/decide.js";
import { parseHost } from "../rules/host.js";
import { SECRET_LOCATIONS, type SecretLocation } from "../rules/settings.js";

export interface SecretOptions {
  /** The name of the variable inside. */
  readonly name: string;
  readonly value: string;
  /** Names, or `*.name` for what is below a name. */
  readonly hosts: readonly string[];
  /** Left out: headers. `query` also means the path. */
  readonly in?: readonly SecretLocation[];
  /** Where it was asked for, in the words of errors, and the code of those. Left out: the caller's code. */
  readonly origin?: SecretOrigin;
}

export interface SecretOrigin {
  /** "sandbox.secrets.GITHUB_TOKEN" */
  readonly words: string;
  readonly code: Extract<ErrorCode, "CONFIG_INVALID" | "INVALID_ARGUMENT">;
  /** What allows a host there: "Add --allow-domain 'api.example.com'". */
  readonly allow: (host: string) => string;
}

/** A shorter one would be found all over an answer. */
const MIN_VALUE_CHARACTERS = 8;
/** Servers refuse longer headers. */
const MAX_VALUE_BYTES = 8 * 1024;

/** Begins every placeholder. */
export const PLACEHOLDER_START = "skerry_secret_";

/** A value that only its hosts may get. Nothing that prints or serialises this object shows it. */
export class Secret {
  readonly name: string;
  readonly hosts: readonly string[];
  readonly in: readonly SecretLocation[];
  readonly origin: SecretOrigin;
  readonly #value: string;

  constructor({ name, value, hosts, in: places = ["header"], origin }: SecretOptions) {
    this.origin = origin ?? {
      words: `The secret ${shown(name)}`,
      code: "INVALID_ARGUMENT",
      allow: (host) => `Allow ${host} in the rules of egress`,
    };
    if (!/^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(name)) {
      throw this.#refuse(`has the name "${shown(name)}", which is none of a variable`, {
        hint: "Use letters, digits and underscores, at most 64, and no digit first: GITHUB_TOKEN.",
      });
    }
    this.name = name;
    if (!Array.isArray(hosts) || hosts.length === 0) {
      throw this.#refuse("is for no host", { hint: `Name the hosts that get it: ${name}@api.example.com.` });
    }
    this.hosts = hosts.map((host) => this.#parseHost(host));
    if (places.length === 0 || places.some((place) => !SECRET_LOCATIONS.includes(place))) {
      throw this.#refuse(`must be in some of: ${SECRET_LOCATIONS.join(", ")}`, {});
    }
    this.in = [...places];
    this.#value = this.#checkValue(value);
  }

  /** The value itself: for what puts it into a request, and what takes it out of an answer. */
  reveal(): string {
    return this.#value;
  }

  isFor(host: string): boolean {
    return this.hosts.some((pattern) =>
      pattern.startsWith("*.")
        ? host.endsWith(pattern.slice(1)) && host.length > pattern.length - 1
        : host === pattern,
    );
  }

  toJSON(): { name: string; hosts: readonly string[]; in: readonly SecretLocation[] } {
    return { name: this.name, hosts: this.hosts, in: this.in };
  }

  [inspect.custom](): string {
    return `Secret ${this.name} for ${this.hosts.join(", ")}`;
  }

  #parseHost(text: string): string {
    const isBelow = text.startsWith("*.");
    const host = parseHost(isBelow ? text.slice(2) : text);
    const canonical = host?.kind === "name" ? host.name : "";
    const isTooWide = isBelow && !canonical.includes(".");
    if (host?.kind !== "name" || isTooWide) {
      throw this.#refuse(`is for "${shown(text)}", which is not the name of a host`, {
        hint: "Give a name, or *.name with a dot in the name: without scheme, port or path, and no address.",
      });
    }
    return isBelow ? `*.${canonical}` : canonical;
  }

  #checkValue(value: string): string {
    const hint = "Check the variable or the file that it comes from.";
    if (value === "") throw this.#refuse("is empty", { hint });
    if (/\p{Cc}/u.test(value)) {
      throw this.#refuse("holds a line break or another control character", { hint });
    }
    if (/\p{Cs}/u.test(value) || value.trim() !== value) {
      throw this.#refuse("begins or ends with a space, or is not text", { hint });
    }
    if (value.length < MIN_VALUE_CHARACTERS) {
      throw this.#refuse(`has fewer than ${MIN_VALUE_CHARACTERS} characters`, {
        hint: "A value this short also occurs in ordinary text. Use a longer one.",
      });
    }
    if (Buffer.byteLength(value) > MAX_VALUE_BYTES) {
      throw this.#refuse(`has more than ${MAX_VALUE_BYTES} bytes`, { hint });
    }
    return value;
  }

  #refuse(what: string, init: { hint?: string }): SandboxError {
    return new SandboxError(this.origin.code, `${this.origin.words} ${what}`, init);
  }
}

/** A secret, and what stands for it in one sandbox. */
export interface PlacedSecret {
  readonly secret: Secret;
  readonly placeholder: string;
  /** Finds the placeholder also where any of its characters is percent-encoded. */
  readonly escaped: RegExp;
}

/** Gives a secret a placeholder: safe in headers, URLs, JSON and shells, and impossible to guess. */
export function placeSecret(secret: Secret): PlacedSecret {
  const placeholder = `${PLACEHOLDER_START}${secret.name}_${randomBytes(16).toString("hex")}`;
  const source = placeholder.replace(/./g, (character) => {
    const code = character.charCodeAt(0).toString(16);
    return `(?:${character}|%${code.replace(/[a-f]/, (digit) => `[${digit}${digit.toUpperCase()}]`)})`;
  });
  return { secret, placeholder, escaped: new RegExp(source, "g") };
}

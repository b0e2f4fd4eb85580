import type { Transform } from "node:stream";
import type { SecretLocation } from "../rules/settings.js";
import { type HttpHeader, type OutgoingRequest, type PreparedRequest, SecretLeak } from "./edge-secrets.js";
import { PLACEHOLDER_START, type PlacedSecret, type Secret } from "./secret.js";
import { type Replacement, StreamReplace } from "./stream-replace.js";
import { FORMS, formFor } from "./value-encodings.js";

/** Something that was put in as a whole, and what it was before: for an answer that repeats it. */
export interface Echo {
  readonly sent: string;
  readonly was: string;
}

type Accepted = Extract<PreparedRequest, { ok: true }>;
type Prepared =
  | (Omit<Accepted, "response"> & { readonly echoes: readonly Echo[] })
  | Exclude<PreparedRequest, Accepted>;

/** These set the request's host and length: no secret is put into them. */
const FIXED_HEADERS = new Set([
  "host",
  "connection",
  "content-length",
  "transfer-encoding",
  "te",
  "trailer",
  "upgrade",
  "expect",
]);
const BASIC = /^(\s*basic\s+)([A-Za-z0-9+/_-]+=*)(\s*)$/i;

/** Puts the secrets that are for this host where they may stand; a placeholder anywhere else is a refusal. */
export function prepare(request: OutgoingRequest, placed: readonly PlacedSecret[]): Prepared {
  const used: string[] = [];
  const echoes: Echo[] = [];
  try {
    const put = (text: string, place: SecretLocation | undefined, form: (value: string) => string) =>
      substitute(text, request, placed, place, form, used);
    put(request.method, undefined, FORMS.plain);
    const path = put(request.path, "query", FORMS.percent);
    const headers = request.headers.map(([name, value]): HttpHeader => {
      put(name, undefined, FORMS.plain);
      const place = FIXED_HEADERS.has(name.toLowerCase()) ? undefined : "header";
      const basic = BASIC.exec(value);
      if (basic === null) return [name, put(value, place, asHeader)];
      const before = Buffer.from(basic[2]!, "base64").toString("latin1");
      const after = put(before, place, asHeader);
      if (after === before) return [name, put(value, place, asHeader)];
      const sent = Buffer.from(after, "latin1").toString("base64");
      echoes.push({ sent, was: basic[2]! });
      return [name, `${basic[1]}${sent}${basic[3]}`];
    });
    if (placed.length === 0) return { ok: true, path, headers, used, echoes };
    return { ok: true, path, ...withBody(request, headers, placed, used), used, echoes };
  } catch (error) {
    if (error instanceof SecretLeak) return { ok: false, why: error.message, secrets: error.secrets };
    throw error;
  }
}

/** HttpHeader values are written as one byte per character. */
function asHeader(value: string): string {
  return Buffer.from(value, "utf8").toString("latin1");
}

function substitute(
  text: string,
  request: OutgoingRequest,
  placed: readonly PlacedSecret[],
  place: SecretLocation | undefined,
  form: (value: string) => string,
  used: string[],
): string {
  if (!text.includes("%") && !text.includes(PLACEHOLDER_START)) return text;
  let result = text;
  for (const { secret, placeholder, escaped } of placed) {
    // Only in a URL does the reader decode an escaped placeholder.
    if (place !== "query" && text.replaceAll(placeholder, "").search(escaped) >= 0) {
      throw refusal(secret, request, undefined);
    }
    result = result.replace(escaped, () => {
      if (!mayStand(secret, request, place)) throw refusal(secret, request, place);
      if (!used.includes(secret.name)) used.push(secret.name);
      return form(secret.reveal());
    });
  }
  return result;
}

function mayStand(
  secret: Secret,
  { host, secure }: OutgoingRequest,
  place: SecretLocation | undefined,
): boolean {
  return secure && secret.isFor(host) && place !== undefined && secret.in.includes(place);
}

function refusal(
  secret: Secret,
  { host, secure }: OutgoingRequest,
  place: SecretLocation | undefined,
): SecretLeak {
  const { name } = secret;
  const why = !secret.isFor(host)
    ? `the secret ${name} is not for ${host}`
    : !secure
      ? `the secret ${name} is only sent over TLS, and this request to ${host} is not`
      : place === undefined
        ? `the secret ${name} stands where it cannot be put in`
        : `the secret ${name} may stand in ${secret.in.join(", ")}, not in ${place}`;
  return new SecretLeak(why, [name]);
}

/** The stream for the body, and the headers that fit what it makes. */
function withBody(
  request: OutgoingRequest,
  headers: readonly HttpHeader[],
  placed: readonly PlacedSecret[],
  used: string[],
): { headers: readonly HttpHeader[]; body: Transform } {
  const isMine = placed.some(({ secret }) => secret.isFor(request.host));
  const replaced = placed.filter(({ secret }) => mayStand(secret, request, "body"));
  const encoding = headerOf(headers, "content-encoding");
  if (replaced.length > 0 && encoding !== undefined && encoding.toLowerCase() !== "identity") {
    const names = replaced.map(({ secret }) => secret.name);
    throw new SecretLeak(`the secret ${names.join(", ")} cannot be put into a compressed body`, names);
  }
  const form = FORMS[formFor(headerOf(headers, "content-type"))];
  const replacements = placed.map(({ secret, placeholder }): Replacement => {
    const find = Buffer.from(placeholder);
    if (!replaced.some((each) => each.secret === secret)) {
      return { find, by: () => refusal(secret, request, "body") };
    }
    const value = Buffer.from(form(secret.reveal()));
    const by = () => {
      if (!used.includes(secret.name)) used.push(secret.name);
      return value;
    };
    return { find, by };
  });
  // What has left cannot be replaced any more; what is only refused may leave as far as it says nothing.
  const releaseUpTo = replaced.length > 0 ? 0 : PLACEHOLDER_START.length;
  const body = new StreamReplace(replacements, { releaseUpTo });
  return { headers: isMine ? adjusted(headers, replaced.length > 0) : headers, body };
}

/** An answer that can be looked into, and a body of unknown length. */
function adjusted(headers: readonly HttpHeader[], isReplaced: boolean): HttpHeader[] {
  const dropped = new Set(["accept-encoding", "sec-websocket-extensions"]);
  const length = headerOf(headers, "content-length");
  if (isReplaced && length?.trim() !== "0") dropped.add("content-length");
  const kept = headers.filter(([name]) => !dropped.has(name.toLowerCase()));
  return [...kept, ["accept-encoding", "identity"]];
}

function headerOf(headers: readonly HttpHeader[], wanted: string): string | undefined {
  return headers.find(([name]) => name.toLowerCase() === wanted)?.[1];
}

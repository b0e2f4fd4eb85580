import { SandboxError } from "../../kit/errors.js";
import { withoutNamed } from "./redact-named.js";
import { endOf, MARK } from "./redact-words.js";

/** Takes secrets out of text. */
export type Redact = (text: string) => string;

/** A shorter one would be found everywhere. */
const MIN_VALUE_CHARACTERS = 4;

/**
 * Each begins with a literal or at the start of a token, and repeats one class only: time is linear in the text, also
 * for text made to be slow.
 */
const TOKENS = [
  /(?<![\w-])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![\w-])/g,
  /(?<![\w-])gh[pousr]_[A-Za-z0-9]{20,}/g,
  /(?<![\w-])github_pat_\w{20,}/g,
  /(?<![\w-])glpat-[\w-]{16,}/g,
  /(?<![\w-])xox[abeoprs]-[\w-]{10,}/g,
  /(?<![\w-])[sr]k_(?:live|test)_\w{16,}/g,
  /(?<![\w-])sk-[\w-]{16,}/g,
  /(?<![\w-])AIza[\w-]{30,}/g,
  /(?<![\w-])npm_[A-Za-z0-9]{30,}/g,
  /(?<![\w-])hf_[A-Za-z0-9]{30,}/g,
  /(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*/g,
];
/** Text without any of these has nothing for the patterns and the names. */
const HINT =
  /A[KSBC][IC]A|gh[pousr]_|github_pat_|glpat-|xox|[sr]k[_-]|AIza|npm_|hf_|eyJ|:\/\/|auth|bearer|cookie|pw|p\W{0,8}a\W{0,8}s\W{0,8}s|p\W{0,8}w\W{0,8}d|s\W{0,8}e\W{0,8}c\W{0,8}r|t\W{0,8}o\W{0,8}k|cred|key|[?&]|-u|--user|-p|sudo|curl|wget|redis-cli|ldapsearch/i;
const KEY_BLOCK =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g;

const BEARER = /(\bbearer\s{1,4})[^\s"'`,;&]{8,}/gi;

/** A function that takes out what looks like a secret, and the values and patterns given here. */
export function createRedactor(own: readonly (string | RegExp)[] = []): Redact {
  const values = own.filter((each) => typeof each === "string");
  if (values.some((value) => value.length < MIN_VALUE_CHARACTERS)) {
    throw new SandboxError(
      "INVALID_ARGUMENT",
      `A value to redact has fewer than ${MIN_VALUE_CHARACTERS} characters`,
      { hint: "Such a value would be found in ordinary words. Give a pattern instead." },
    );
  }
  // One that holds another must go first, or its rest would stay.
  values.sort((a, b) => b.length - a.length);
  const patterns = own.flatMap((each) => (typeof each === "string" ? [] : [repeated(each)]));
  return (text) => {
    let safe = text;
    for (const value of values) safe = safe.replaceAll(value, MARK);
    for (const pattern of patterns) safe = safe.replace(pattern, MARK);
    if (!HINT.test(safe)) return safe;
    safe = safe.replace(KEY_BLOCK, MARK);
    for (const pattern of TOKENS) safe = safe.replace(pattern, MARK);
    safe = safe.replace(BEARER, `$1${MARK}`);
    return withoutNamed(withoutPiped(withoutUserinfo(safe)));
  };
}

function repeated(pattern: RegExp): RegExp {
  const flags = pattern.flags.replace("y", "");
  return new RegExp(pattern.source, flags.includes("g") ? flags : `${flags}g`);
}

/** https://user:secret@host, and https://secret@host. */
function withoutUserinfo(text: string): string {
  let safe = "";
  let done = 0;
  let tokenEnd = -1;
  let lastAt = -1;
  for (let at = text.indexOf("://"); at >= 0; at = text.indexOf("://", Math.max(at + 3, done))) {
    const start = at + 3;
    // Kept from one URL to the next: many in one token are not read to its end each time.
    if (start > tokenEnd) {
      tokenEnd = endOf(text, /[\s"'`<>]/g, start);
      lastAt = text.lastIndexOf("@", tokenEnd - 1);
    }
    const end = endOf(text, /[\s/?#]/g, start);
    let host = text.slice(start, end).lastIndexOf("@");
    const colon = text.slice(start, end).indexOf(":");
    if (host >= 0) host += start;
    // A password may hold a slash; a port in front of one is no password.
    else if (colon >= 0 && lastAt > start + colon && !PORT.test(text.slice(start + colon, end)))
      host = lastAt;
    if (host <= start) continue;
    const user = colon >= 0 && start + colon < host ? text.slice(start, start + colon) : undefined;
    const password = user === undefined ? undefined : text.slice(start + user.length + 1, host);
    if (
      user === undefined &&
      (text.slice(start, host) === "git" || SSH.test(text.slice(Math.max(0, at - 8), at)))
    )
      continue;
    const whole =
      user === undefined || user.length >= MIN_TOKEN_USER || password === "" || password === "x-oauth-basic";
    safe += text.slice(done, whole ? start : start + user.length + 1) + MARK;
    done = host;
  }
  return safe + text.slice(done);
}

const PORT = /^:\d{0,5}$/;
const SSH = /(?:ssh|sftp)$/i;
/** A user's name of this length is a token. */
const MIN_TOKEN_USER = 20;

/** What is piped into a program that reads a password: echo secret | sudo -S … */
function withoutPiped(text: string): string {
  let safe = "";
  let done = 0;
  for (const found of text.matchAll(READS_PASSWORD)) {
    let start = found.index;
    while (start > done && !";&\n".includes(text[start - 1]!)) start--;
    const command = /^\s*\S+\s/.exec(text.slice(start, found.index))?.[0] ?? "";
    safe += `${text.slice(done, start)}${command}${MARK} `;
    done = found.index;
  }
  return safe + text.slice(done);
}

const READS_PASSWORD =
  /\|\s{0,8}(?:sudo\s[^|;&\n]{0,80}?(?:-[A-Za-z]{0,8}S|--stdin)|[^|;&\n]{0,200}?--pass(?:word|wd|phrase)?-?(?:stdin|fd)|(?:sudo\s{1,4})?(?:chpasswd|passwd\s))/g;

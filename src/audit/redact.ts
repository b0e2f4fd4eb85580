import { SandboxError } from "../errors.js";

/** Takes secrets out of text. */
export type Redact = (text: string) => string;

const MARK = "[redacted]";
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
/** Text without any of these has nothing for the patterns. */
const HINT =
  /A[KSBC][IC]A|gh[pousr]_|github_pat_|glpat-|xox|[sr]k[_-]|AIza|npm_|hf_|eyJ|:\/\/|authorization|bearer|pass|pwd|secret|token|credential|key|\s-u|--user/i;
const NAME =
  "(?:pass(?:word|wd|phrase)?|pwd|secret|token|credential|(?:api|access|private|secret|account)[_-]?key)s?";
const VALUE = String.raw`(?:"[^"\r\n]{0,4096}"?|'[^'\r\n]{0,4096}'?|[^\s"'&;]{1,4096})`;

/** Text to keep in front, and the secret behind it. */
const AFTER: readonly RegExp[] = [
  // https://user:secret@host
  /(:\/\/[^\s/:@]{0,256}:)[^\s/]{1,256}(?=@)/g,
  // Authorization: Basic dXNlcjpwYXNz
  /(\bauthorization["']?\s{0,4}[:=]\s{0,4}["']?(?:(?:basic|bearer|digest|token|negotiate)\s{1,4})?)[^\s"',]{1,4096}/gi,
  /(\bbearer\s{1,4})[\w.~+/=-]{8,}/gi,
  // password=…, "apiKey": "…", DB_PASSWORD: …
  new RegExp(String.raw`(${NAME}["']?\s{0,4}[:=]{1,2}>?\s{0,4})${VALUE}`, "gi"),
  // --password …, and curl -u user:…
  new RegExp(String.raw`(--[a-z-]{0,32}?${NAME}\s{1,4})${VALUE}`, "gi"),
  /(\s(?:-u|--user)[\s=]{1,4}["']?[^\s:"']{1,128}:)[^\s"']{1,4096}/g,
];
const KEY_BLOCK =
  /-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/g;

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
    for (const pattern of AFTER) safe = safe.replace(pattern, `$1${MARK}`);
    return safe;
  };
}

function repeated(pattern: RegExp): RegExp {
  const flags = pattern.flags.replace("y", "");
  return new RegExp(pattern.source, flags.includes("g") ? flags : `${flags}g`);
}

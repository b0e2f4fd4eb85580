import { SandboxError } from "./errors.js";

const DURATION_UNITS_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

const KIB = 1024;
const SIZE_UNITS: Readonly<Record<string, number>> = {
  b: 1,
  k: KIB,
  m: KIB ** 2,
  g: KIB ** 3,
  t: KIB ** 4,
};

/** One mebibyte; "mb" in a size means this, as it does for Docker and cgroups. */
export const MIB = KIB ** 2;

/** The longest duration a Node timer can wait for; a longer one would fire at once. */
export const MAX_DURATION_MS = 2 ** 31 - 1;

const DURATION_HINT = "Write seconds as a number, or a number with a unit: 250ms, 30s, 5m, 2h, 1d.";
const SIZE_HINT = "Write bytes as a number, or a number with a unit: 64kb, 512mb, 1gb (1 kb is 1024 bytes).";

/** Reads "250ms", "30s", "5m", "2h", "1d" or a number of seconds; resolves to whole milliseconds above zero. */
export function parseDurationMs(value: string | number): number {
  const fail = (why: string) => refuse(value, "a duration", why, DURATION_HINT);
  const { amount, unit } = split(value, fail);
  const factor = lookUp(DURATION_UNITS_MS, unit === "" ? "s" : unit);
  if (factor === undefined) throw fail(`the unit ${JSON.stringify(unit)} is not known`);
  const ms = amount * factor;
  if (ms === 0) throw fail("it must be longer than zero");
  if (ms > MAX_DURATION_MS) throw fail("the longest is 24 days");
  return Math.ceil(ms);
}

/** Reads "512mb", "1gib", "64k" or a number of bytes; resolves to whole bytes above zero. */
export function parseSizeBytes(value: string | number): number {
  const fail = (why: string) => refuse(value, "a size", why, SIZE_HINT);
  const { amount, unit } = split(value, fail);
  const factor = lookUp(SIZE_UNITS, unit === "" ? "b" : unit.replace(/(?<=^[kmgt])i?b?$/, ""));
  if (factor === undefined) throw fail(`the unit ${JSON.stringify(unit)} is not known`);
  const bytes = Math.floor(amount * factor);
  if (bytes < 1) throw fail("it must be at least one byte");
  if (bytes > Number.MAX_SAFE_INTEGER) throw fail("it is too large");
  return bytes;
}

type Fail = (why: string) => SandboxError;

function split(value: string | number, fail: Fail): { amount: number; unit: string } {
  if (typeof value === "number") {
    if (!Number.isFinite(value)) throw fail("it is not a finite number");
    if (value < 0) throw fail("it must not be negative");
    return { amount: value, unit: "" };
  }
  const text = value.trim();
  if (/^-\s*[\d.]/.test(text)) throw fail("it must not be negative");
  const match = /^(\d+(?:\.\d+)?)\s*([a-z]*)$/i.exec(text);
  if (match === null) throw fail("it is not a number with a unit");
  const amount = Number(match[1]);
  if (!Number.isFinite(amount)) throw fail("it is too large");
  return { amount, unit: match[2]!.toLowerCase() };
}

function lookUp(table: Readonly<Record<string, number>>, unit: string): number | undefined {
  return Object.hasOwn(table, unit) ? table[unit] : undefined;
}

function refuse(value: string | number, what: string, why: string, hint: string): SandboxError {
  const shown = typeof value === "number" ? String(value) : JSON.stringify(value.slice(0, 40));
  return new SandboxError("INVALID_ARGUMENT", `${shown} is not ${what}: ${why}`, { hint });
}

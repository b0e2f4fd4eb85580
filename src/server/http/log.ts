import type { LogLevel } from "../../core/config/index.js";
import { type ErrorCode, SandboxError, systemCode } from "../../kit/errors.js";
import { escapeUnsafe } from "../../kit/escape-unsafe.js";
import { PACKAGE_ROOT } from "../../kit/package-root.js";

const MAX_TEXT = 500;
const MAX_CHAIN = 5;
const MAX_FRAMES = 12;
const MAX_ITEMS = 50;

/** What a framework says of a request: its address is a caller's. */
const CALLERS_FIELDS = new Set(["req", "res", "path", "url"]);

const ERRORS = new Set(["err", "error"]);

/** Codes whose messages are about this host. Those of the others may name files, commands and programs. */
const ABOUT_US: ReadonlySet<ErrorCode> = new Set([
  "AUDIT_FAILED",
  "AUDIT_BROKEN",
  "STORE_FAILED",
  "CONFIG_INVALID",
  "DISK_FULL",
  "SANDBOX_START_FAILED",
  "SANDBOX_LOST",
  "POOL_EXHAUSTED",
  "BACKEND_UNAVAILABLE",
  "IMAGE_MISSING",
  "INTERNAL",
]);

/** V8's own: their messages come from our source, except for quoted parts. */
const NATIVE: readonly unknown[] = [TypeError, RangeError, ReferenceError];

/** Where lines go: a stream, or anything that takes texts. */
export interface LogStream {
  write(line: string): unknown;
}

/** How the server logs: lines of JSON without text of clients, and without control characters that act on a terminal. */
export function logOptions(level: LogLevel, stream: LogStream) {
  return {
    level,
    stream,
    formatters: { log: maskFields },
    hooks: {
      logMethod(this: unknown, [first, ...rest]: unknown[], method: (...given: unknown[]) => void) {
        const words = rest.map((each) => (typeof each === "string" ? maskQuoted(each) : each));
        if (typeof first === "string") return method.apply(this, [maskQuoted(first), ...words]);
        // Without words of its own a line would have those of its error.
        if (words.length === 0) words.push("noted");
        method.apply(this, [first instanceof Error ? { err: first } : first, ...words]);
      },
    },
  };
}

/** An error and its causes: names, codes and places, and only such words as we chose ourselves. */
export function describeError(error: unknown): string[] {
  const chain: string[] = [];
  for (let each = error; each !== undefined && each !== null && chain.length < MAX_CHAIN; ) {
    if (!(each instanceof Error)) {
      chain.push(`thrown value (${typeof each})`);
      break;
    }
    chain.push([titleOf(each), ...framesOf(each)].join("\n"));
    each = each.cause;
  }
  return chain;
}

/** A log text on one line, with quoted parts masked: they may be a caller's. */
export function maskQuoted(text: string): string {
  const masked = text.slice(0, 4 * MAX_TEXT).replaceAll(/"(?:[^"\\]|\\.)*"?|'[^']*'?|`[^`]*`?/g, "“…”");
  return escapeUnsafe(masked.length > MAX_TEXT ? `${masked.slice(0, MAX_TEXT)}…` : masked);
}

function titleOf(error: Error): string {
  const { syscall } = error as { syscall?: unknown };
  const words = [
    error.constructor.name,
    systemCode(error) ?? "",
    typeof syscall === "string" ? syscall : "",
  ].filter((word) => /^[\w.-]{1,64}$/.test(word));
  return hasOurWords(error) ? `${words.join(" ")}: ${maskQuoted(error.message)}` : words.join(" ");
}

function hasOurWords(error: Error): boolean {
  if (!(error instanceof SandboxError))
    return NATIVE.includes(error.constructor) && systemCode(error) === undefined;
  return ABOUT_US.has(error.code) && !isMessageOfCause(error);
}

/** True of an error that was only given a code: its words are those of whatever broke, with paths and more in them. */
export function isMessageOfCause({ cause, message }: SandboxError): boolean {
  if (!(cause instanceof Error) || cause instanceof SandboxError) return false;
  return cause.message !== "" && message.includes(cause.message);
}

/** The places of a stack. Its beginning is the message, which may have lines that look like places. */
function framesOf({ stack = "", message }: Error): string[] {
  const begin = message === "" ? stack.indexOf("\n") : stack.indexOf(message);
  if (begin < 0) return [];
  return stack
    .slice(begin + message.length)
    .split("\n")
    .filter((line) => line.startsWith("    at "))
    .slice(0, MAX_FRAMES)
    .map((line) => escapeUnsafe(line.replaceAll(`file://${PACKAGE_ROOT}`, "").replaceAll(PACKAGE_ROOT, "")));
}

function maskFields(fields: Record<string, unknown>): Record<string, unknown> {
  const kept = Object.entries(fields).filter(([name]) => !CALLERS_FIELDS.has(name));
  return Object.fromEntries(
    kept.map(([name, value]) => [
      maskQuoted(name),
      ERRORS.has(name) ? describeError(value) : maskValue(value),
    ]),
  );
}

function maskValue(value: unknown, depth = 0): unknown {
  if (typeof value === "number" || typeof value === "boolean" || value === null || value === undefined)
    return value;
  if (typeof value === "string") return maskQuoted(value);
  if (value instanceof Error) return describeError(value);
  if (typeof value !== "object" || depth > 2) return typeof value;
  if (Array.isArray(value)) return value.slice(0, MAX_ITEMS).map((each) => maskValue(each, depth + 1));
  const entries = Object.entries(value).slice(0, MAX_ITEMS);
  return Object.fromEntries(entries.map(([name, each]) => [maskQuoted(name), maskValue(each, depth + 1)]));
}

import { SandboxError } from "../../../../kit/errors.js";
import { SYSCALL_NUMBERS } from "./syscall-numbers.js";

/** What a rule does. SCMP_ACT_TRACE and SCMP_ACT_NOTIFY need a supervisor, so we have neither. */
export type SeccompAction =
  | "SCMP_ACT_ALLOW"
  | "SCMP_ACT_LOG"
  | "SCMP_ACT_ERRNO"
  | "SCMP_ACT_TRAP"
  | "SCMP_ACT_KILL"
  | "SCMP_ACT_KILL_THREAD"
  | "SCMP_ACT_KILL_PROCESS";

/** How an argument is compared, unsigned, all 64 bits. */
type SeccompOperator =
  | "SCMP_CMP_EQ"
  | "SCMP_CMP_NE"
  | "SCMP_CMP_LT"
  | "SCMP_CMP_LE"
  | "SCMP_CMP_GT"
  | "SCMP_CMP_GE"
  | "SCMP_CMP_MASKED_EQ";

/** A condition on one argument. For MASKED_EQ: `(argument & value) == valueTwo`. */
export interface SeccompCondition {
  readonly index: number;
  /** A bigint reaches beyond 2^53, but cannot be written as JSON. */
  readonly value: number | bigint;
  readonly valueTwo?: number | bigint;
  readonly op: SeccompOperator;
}

/** What happens to the named calls when all conditions hold. */
export interface SeccompRule {
  readonly names: readonly string[];
  readonly action: SeccompAction;
  /** For SCMP_ACT_ERRNO; 1 (EPERM) unless given. */
  readonly errnoRet?: number;
  readonly args?: readonly SeccompCondition[];
  readonly comment?: string;
}

interface SeccompArchitecture {
  readonly architecture: "SCMP_ARCH_X86_64" | "SCMP_ARCH_AARCH64";
  /** Always empty: we let no second ABI in. */
  readonly subArchitectures: readonly never[];
}

/** A filter in the JSON format of `docker run --security-opt seccomp=FILE`. */
export interface SeccompProfile {
  readonly defaultAction: SeccompAction;
  readonly defaultErrnoRet?: number;
  readonly archMap: readonly SeccompArchitecture[];
  readonly syscalls: readonly SeccompRule[];
}

const ACTIONS: ReadonlySet<unknown> = new Set<SeccompAction>([
  "SCMP_ACT_ALLOW",
  "SCMP_ACT_LOG",
  "SCMP_ACT_ERRNO",
  "SCMP_ACT_TRAP",
  "SCMP_ACT_KILL",
  "SCMP_ACT_KILL_THREAD",
  "SCMP_ACT_KILL_PROCESS",
]);

const OPERATORS: ReadonlySet<unknown> = new Set<SeccompOperator>([
  "SCMP_CMP_EQ",
  "SCMP_CMP_NE",
  "SCMP_CMP_LT",
  "SCMP_CMP_LE",
  "SCMP_CMP_GT",
  "SCMP_CMP_GE",
  "SCMP_CMP_MASKED_EQ",
]);

const ARCHITECTURES: ReadonlySet<unknown> = new Set(["SCMP_ARCH_X86_64", "SCMP_ARCH_AARCH64"]);

/**
 * Checks a profile or throws CONFIG_INVALID. Keys we do not know (`includes`, `excludes`, `flags`) are refused,
 * since skipping one would change what the profile means.
 */
export function parseSeccompProfile(input: unknown): SeccompProfile {
  const profile = record(input, "profile", ["defaultAction", "defaultErrnoRet", "archMap", "syscalls"]);
  checkAction(profile.defaultAction, profile.defaultErrnoRet, "defaultAction", "defaultErrnoRet");
  list(profile.archMap, "archMap").forEach((entry, i) => {
    const at = `archMap[${i}]`;
    const { architecture, subArchitectures } = record(entry, at, ["architecture", "subArchitectures"]);
    if (!ARCHITECTURES.has(architecture)) fail(`${at}.architecture`, "a known architecture", architecture);
    if (list(subArchitectures, `${at}.subArchitectures`).length > 0)
      fail(`${at}.subArchitectures`, "an empty list", subArchitectures);
  });
  list(profile.syscalls, "syscalls").forEach((rule, i) => {
    checkRule(rule, `syscalls[${i}]`);
  });
  return input as SeccompProfile;
}

function checkRule(input: unknown, at: string): void {
  const rule = record(input, at, ["names", "action", "errnoRet", "args", "comment"]);
  const names = list(rule.names, `${at}.names`);
  if (names.length === 0) fail(`${at}.names`, "at least one name", names);
  for (const name of names) {
    // A misspelt name would silently allow or refuse nothing.
    if (typeof name !== "string" || !Object.hasOwn(SYSCALL_NUMBERS, name))
      fail(`${at}.names`, "known system calls", name);
  }
  checkAction(rule.action, rule.errnoRet, `${at}.action`, `${at}.errnoRet`);
  if (rule.comment !== undefined && typeof rule.comment !== "string")
    fail(`${at}.comment`, "a string", rule.comment);
  const indexes = new Set<unknown>();
  if (rule.args === undefined) return;
  list(rule.args, `${at}.args`).forEach((condition, i) => {
    const index = checkCondition(condition, `${at}.args[${i}]`);
    // runc reads two conditions on one argument as "or", libseccomp refuses them: no meaning is safe.
    if (indexes.has(index)) fail(`${at}.args[${i}].index`, "one condition per argument", index);
    indexes.add(index);
  });
}

function checkCondition(input: unknown, at: string): number {
  const { index, value, valueTwo = 0, op } = record(input, at, ["index", "value", "valueTwo", "op"]);
  if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index > 5)
    return fail(`${at}.index`, "0 to 5", index);
  if (!OPERATORS.has(op)) fail(`${at}.op`, "a known operator", op);
  const first = word(value, `${at}.value`);
  const second = word(valueTwo, `${at}.valueTwo`);
  if (op !== "SCMP_CMP_MASKED_EQ" && second !== 0n) fail(`${at}.valueTwo`, "0 unless MASKED_EQ", valueTwo);
  if (op === "SCMP_CMP_MASKED_EQ" && (second & ~first) !== 0n)
    fail(`${at}.valueTwo`, "only bits of the mask, or it never matches", valueTwo);
  return index;
}

function checkAction(action: unknown, errno: unknown, atAction: string, atErrno: string): void {
  if (!ACTIONS.has(action)) fail(atAction, "a known action", action);
  if (errno === undefined) return;
  if (action !== "SCMP_ACT_ERRNO") fail(atErrno, "no errno for this action", errno);
  // 0 would report success for a call that never ran; the kernel caps at 4095.
  if (typeof errno !== "number" || !Number.isInteger(errno) || errno < 1 || errno > 4095)
    fail(atErrno, "1 to 4095", errno);
}

function word(input: unknown, at: string): bigint {
  if (typeof input === "number" && Number.isSafeInteger(input) && input >= 0) return BigInt(input);
  if (typeof input === "bigint" && input >= 0n && input < 1n << 64n) return input;
  return fail(at, "an exact unsigned 64-bit number", input);
}

function record(input: unknown, at: string, keys: readonly string[]): Record<string, unknown> {
  if (typeof input !== "object" || input === null || Array.isArray(input)) fail(at, "an object", input);
  for (const key of Object.keys(input as object)) {
    if (!keys.includes(key)) fail(at, `only ${keys.join(", ")}`, key);
  }
  return input as Record<string, unknown>;
}

function list(input: unknown, at: string): readonly unknown[] {
  return Array.isArray(input) ? input : fail(at, "a list", input);
}

function fail(at: string, expected: string, got: unknown): never {
  const shown = typeof got === "object" ? JSON.stringify(got) : String(got);
  throw new SandboxError("CONFIG_INVALID", `seccomp ${at}: expected ${expected}, got ${shown}`);
}

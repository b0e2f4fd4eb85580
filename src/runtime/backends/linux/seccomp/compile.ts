import { SandboxError } from "../../../../kit/errors.js";
import { BackwardAssembler, BPF, DATA, encodeBpf, type Label } from "./bpf.js";
import {
  parseSeccompProfile,
  type SeccompAction,
  type SeccompCondition,
  type SeccompProfile,
  type SeccompRule,
} from "./profile-format.js";
import { type SeccompArch, SYSCALL_NUMBERS } from "./syscall-numbers.js";

/** What the kernel calls each architecture (AUDIT_ARCH_*) and what a profile does. */
export const ARCHITECTURES = {
  x64: { audit: 0xc000003e, profileName: "SCMP_ARCH_X86_64" },
  arm64: { audit: 0xc00000b7, profileName: "SCMP_ARCH_AARCH64" },
} as const satisfies Record<SeccompArch, { audit: number; profileName: string }>;

/** SECCOMP_RET_* values. */
const VERDICTS = {
  SCMP_ACT_ALLOW: 0x7fff0000,
  SCMP_ACT_LOG: 0x7ffc0000,
  SCMP_ACT_ERRNO: 0x00050000,
  SCMP_ACT_TRAP: 0x00030000,
  SCMP_ACT_KILL: 0x00000000,
  SCMP_ACT_KILL_THREAD: 0x00000000,
  SCMP_ACT_KILL_PROCESS: 0x80000000,
} as const satisfies Record<SeccompAction, number>;

/** The first number of the x32 ABI, whose calls reach the same code under numbers a filter may not list. */
const X32_BIT = 0x40000000;

const EPERM = 1;
const ENOSYS = 38;
const MAX_INSTRUCTIONS = 4096;

/** A run of system call numbers, up to the next run's start, that share one list of rules. */
interface Range {
  readonly start: number;
  readonly rules: readonly SeccompRule[];
  readonly otherwise: number;
}

/**
 * Compiles a profile to the program that `bwrap --seccomp` loads, or throws CONFIG_INVALID.
 *
 * For one system call the first entry in profile order whose conditions all hold decides; if none does, the
 * default. Another architecture kills the process; x32 is refused with EPERM. A number no header names gets
 * ENOSYS where the default is an errno: to a libc, EPERM from a call newer than us is a failure, ENOSYS a
 * reason to use the older one.
 */
export function compileSeccomp(profile: SeccompProfile, arch: SeccompArch): Buffer {
  parseSeccompProfile(profile);
  const { audit, profileName } = ARCHITECTURES[arch];
  if (!profile.archMap.some((entry) => entry.architecture === profileName))
    throw new SandboxError("CONFIG_INVALID", `seccomp archMap: expected ${profileName}, which is missing`);

  const program = new BackwardAssembler();
  const search = emitSearch(program, collectRanges(profile, arch));
  let start = search;
  if (arch === "x64") {
    // -1 is no x32 call but what a tracer leaves to skip a call: an unknown number like any other.
    const x32 = program.branch(BPF.JEQ, 0xffffffff, search, program.return(errno(EPERM)));
    start = program.branch(BPF.JGE, X32_BIT, x32, search);
  }
  start = program.straight(BPF.LOAD, DATA.NR, start);
  start = program.branch(BPF.JEQ, audit, start, program.return(VERDICTS.SCMP_ACT_KILL_PROCESS));
  program.straight(BPF.LOAD, DATA.ARCH, start);

  if (program.length > MAX_INSTRUCTIONS) {
    const size = `at most ${MAX_INSTRUCTIONS} instructions, got ${program.length}`;
    throw new SandboxError("CONFIG_INVALID", `seccomp profile: expected ${size}`);
  }
  return encodeBpf(program.finish());
}

/** The verdict of an action as the kernel encodes it. */
function verdictOf(action: SeccompAction, errnoRet = EPERM): number {
  return action === "SCMP_ACT_ERRNO" ? errno(errnoRet) : VERDICTS[action];
}

/** The verdict for a number that is in no header. */
function unknownNumberVerdict(profile: SeccompProfile): number {
  return profile.defaultAction === "SCMP_ACT_ERRNO" ? errno(ENOSYS) : VERDICTS[profile.defaultAction];
}

function errno(number: number): number {
  return VERDICTS.SCMP_ACT_ERRNO + number;
}

function collectRanges(profile: SeccompProfile, arch: SeccompArch): Range[] {
  const rulesOf = new Map<number, SeccompRule[]>();
  for (const row of Object.values(SYSCALL_NUMBERS)) {
    if (row[arch] !== undefined) rulesOf.set(row[arch], []);
  }
  for (const rule of profile.syscalls) {
    for (const name of rule.names) {
      // A call of the other architecture only, such as open(2) on arm64, has nothing to decide here.
      const number = SYSCALL_NUMBERS[name]![arch];
      if (number !== undefined) rulesOf.get(number)!.push(rule);
    }
  }
  const known = verdictOf(profile.defaultAction, profile.defaultErrnoRet);
  const unknown = unknownNumberVerdict(profile);
  const ranges: Range[] = [];
  let lastKey: string | undefined;
  const append = (range: Range): void => {
    const key = keyOf(range);
    if (key !== lastKey) ranges.push(range);
    lastKey = key;
  };
  let next = 0;
  for (const [number, rules] of [...rulesOf].sort(([a], [b]) => a - b)) {
    if (number > next) append({ start: next, rules: [], otherwise: unknown });
    append(settle(number, rules, known));
    next = number + 1;
  }
  append({ start: next, rules: [], otherwise: unknown });
  return ranges;
}

/** Drops what cannot be reached after a rule without conditions, which becomes the verdict. */
function settle(start: number, rules: readonly SeccompRule[], defaultVerdict: number): Range {
  const end = rules.findIndex((rule) => (rule.args ?? []).length === 0);
  if (end === -1) return { start, rules, otherwise: defaultVerdict };
  const last = rules[end]!;
  return { start, rules: rules.slice(0, end), otherwise: verdictOf(last.action, last.errnoRet) };
}

/** Equal for ranges that decide alike. */
function keyOf({ rules, otherwise }: Range): string {
  const parts = rules.map(({ action, errnoRet, args = [] }) => {
    const conditions = args.map(({ index, op, value, valueTwo = 0 }) => [
      index,
      op,
      `${value}`,
      `${valueTwo}`,
    ]);
    return [verdictOf(action, errnoRet), conditions];
  });
  return JSON.stringify([parts, otherwise]);
}

/** A balanced binary search over the ranges; the accumulator holds the number. */
function emitSearch(program: BackwardAssembler, ranges: readonly Range[]): Label {
  const decisions = new Map<string, Label>();
  const labels = ranges.map((range) => {
    const key = keyOf(range);
    const label = decisions.get(key) ?? emitRules(program, range);
    decisions.set(key, label);
    return label;
  });
  const between = (from: number, to: number): Label => {
    if (to - from === 1) return labels[from]!;
    const middle = (from + to) >>> 1;
    const right = between(middle, to);
    const left = between(from, middle);
    return program.branch(BPF.JGE, ranges[middle]!.start, right, left);
  };
  return between(0, ranges.length);
}

function emitRules(program: BackwardAssembler, { rules, otherwise }: Range): Label {
  let next = program.return(otherwise);
  for (const rule of rules.toReversed()) {
    let match = program.return(verdictOf(rule.action, rule.errnoRet));
    for (const condition of (rule.args ?? []).toReversed())
      match = emitCondition(program, condition, match, next);
    next = match;
  }
  return next;
}

/** The accumulator is 32 bits wide, so an argument is compared as two halves, the high one first. */
function emitCondition(
  program: BackwardAssembler,
  condition: SeccompCondition,
  yes: Label,
  no: Label,
): Label {
  const { index, op } = condition;
  const value = halves(condition.value);
  const load = (offset: number, next: Label): Label => program.straight(BPF.LOAD, offset, next);
  const masked = (
    offset: number,
    mask: number,
    expected: number,
    whenEqual: Label,
    whenNot: Label,
  ): Label => {
    if (mask === 0) return whenEqual;
    const compare = program.branch(BPF.JEQ, expected, whenEqual, whenNot);
    return load(offset, mask === 0xffffffff ? compare : program.straight(BPF.AND, mask, compare));
  };
  const equal = (mask: Halves, expected: Halves, whenEqual: Label, whenNot: Label): Label => {
    const low = masked(DATA.low(index), mask.low, expected.low, whenEqual, whenNot);
    return masked(DATA.high(index), mask.high, expected.high, low, whenNot);
  };
  const ordered = (code: typeof BPF.JGT | typeof BPF.JGE, whenTrue: Label, whenFalse: Label): Label => {
    const low = load(DATA.low(index), program.branch(code, value.low, whenTrue, whenFalse));
    const same = program.branch(BPF.JEQ, value.high, low, whenFalse);
    return load(DATA.high(index), program.branch(BPF.JGT, value.high, whenTrue, same));
  };
  const whole = { low: 0xffffffff, high: 0xffffffff };
  switch (op) {
    case "SCMP_CMP_EQ":
      return equal(whole, value, yes, no);
    case "SCMP_CMP_NE":
      return equal(whole, value, no, yes);
    case "SCMP_CMP_GT":
      return ordered(BPF.JGT, yes, no);
    case "SCMP_CMP_GE":
      return ordered(BPF.JGE, yes, no);
    case "SCMP_CMP_LT":
      return ordered(BPF.JGE, no, yes);
    case "SCMP_CMP_LE":
      return ordered(BPF.JGT, no, yes);
    case "SCMP_CMP_MASKED_EQ":
      return equal(value, halves(condition.valueTwo ?? 0), yes, no);
  }
}

interface Halves {
  readonly low: number;
  readonly high: number;
}

function halves(input: number | bigint): Halves {
  const word = BigInt(input);
  return { low: Number(word & 0xffffffffn), high: Number(word >> 32n) };
}

import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBpf, type SeccompCall, simulateSeccomp } from "../../../../../test/setup/simulate-seccomp.js";
import { BPF, type BpfInstruction } from "./bpf.js";
import { compileSeccomp } from "./compile.js";
import { PROFILE } from "./profile.js";
import type { SeccompCondition, SeccompProfile, SeccompRule } from "./profile-format.js";
import { type SeccompArch, SYSCALL_NUMBERS } from "./syscall-numbers.js";

const ARCHES: readonly SeccompArch[] = ["x64", "arm64"];
const AUDIT = { x64: 0xc000003e, arm64: 0xc00000b7 };
const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const RETURNS = {
  SCMP_ACT_ALLOW: ALLOW,
  SCMP_ACT_LOG: 0x7ffc0000,
  SCMP_ACT_TRAP: 0x00030000,
  SCMP_ACT_KILL: 0,
  SCMP_ACT_KILL_THREAD: 0,
  SCMP_ACT_KILL_PROCESS: KILL_PROCESS,
};

/** The profile read aloud, with nothing in common with the compiler. */
function evaluate(profile: SeccompProfile, arch: SeccompArch, call: SeccompCall): number {
  if (call.auditArch !== AUDIT[arch]) return KILL_PROCESS;
  if (arch === "x64" && call.nr >= 0x40000000 && call.nr !== 0xffffffff) return EPERM;
  const name = Object.keys(SYSCALL_NUMBERS).find((key) => SYSCALL_NUMBERS[key]![arch] === call.nr);
  const verdict = (action: SeccompRule["action"], errno = 1): number =>
    action === "SCMP_ACT_ERRNO" ? 0x00050000 + errno : RETURNS[action];
  if (name === undefined)
    return profile.defaultAction === "SCMP_ACT_ERRNO" ? ENOSYS : verdict(profile.defaultAction);
  for (const rule of profile.syscalls) {
    if (!rule.names.includes(name)) continue;
    if ((rule.args ?? []).every((condition) => holds(condition, call.args?.[condition.index] ?? 0n)))
      return verdict(rule.action, rule.errnoRet);
  }
  return verdict(profile.defaultAction, profile.defaultErrnoRet);
}

function holds({ op, value, valueTwo = 0 }: SeccompCondition, argument: bigint): boolean {
  switch (op) {
    case "SCMP_CMP_EQ":
      return argument === BigInt(value);
    case "SCMP_CMP_NE":
      return argument !== BigInt(value);
    case "SCMP_CMP_LT":
      return argument < BigInt(value);
    case "SCMP_CMP_LE":
      return argument <= BigInt(value);
    case "SCMP_CMP_GT":
      return argument > BigInt(value);
    case "SCMP_CMP_GE":
      return argument >= BigInt(value);
    case "SCMP_CMP_MASKED_EQ":
      return (argument & BigInt(value)) === BigInt(valueTwo);
  }
}

/** What the kernel checks before it loads a program. */
function expectLoadable(program: readonly BpfInstruction[]): void {
  expect(program.length).toBeGreaterThan(0);
  expect(program.length).toBeLessThanOrEqual(4096);
  expect(program.at(-1)!.code).toBe(BPF.RETURN);
  program.forEach(({ code, jt, jf, k }, at) => {
    expect(Object.values(BPF)).toContain(code);
    const furthest = code === BPF.JUMP ? k : Math.max(jt, jf);
    expect(at + 1 + furthest).toBeLessThan(code === BPF.RETURN ? Number.POSITIVE_INFINITY : program.length);
    if (code === BPF.LOAD) expect([k % 4, k < 64]).toEqual([0, true]);
  });
}

// Few values, next to each other and to the seam between the halves, so that rules and calls meet.
const edges = [
  0n,
  1n,
  0xfffffffen,
  0xffffffffn,
  1n << 32n,
  (1n << 32n) + 1n,
  5n << 32n,
  1n << 63n,
  (1n << 64n) - 1n,
];
const word = fc.oneof(fc.constantFrom(...edges), fc.bigInt({ min: 0n, max: (1n << 64n) - 1n }));
const names = fc.constantFrom(...Object.keys(SYSCALL_NUMBERS));
// A few calls get most rules, so that order matters.
const popularNames = ["read", "write", "open", "openat", "ioctl", "clone", "futex_waitv", "sendmsg"];

const action = fc.oneof(
  fc.constantFrom(...(Object.keys(RETURNS) as (keyof typeof RETURNS)[])).map((name) => ({ action: name })),
  fc.record(
    { action: fc.constant("SCMP_ACT_ERRNO" as const), errnoRet: fc.integer({ min: 1, max: 4095 }) },
    { requiredKeys: ["action"] },
  ),
);

const condition: fc.Arbitrary<SeccompCondition> = fc.oneof(
  fc.record({
    index: fc.integer({ min: 0, max: 5 }),
    op: fc.constantFrom(
      "SCMP_CMP_EQ" as const,
      "SCMP_CMP_NE" as const,
      "SCMP_CMP_LT" as const,
      "SCMP_CMP_LE" as const,
      "SCMP_CMP_GT" as const,
      "SCMP_CMP_GE" as const,
    ),
    value: word,
  }),
  fc
    .record({ index: fc.integer({ min: 0, max: 5 }), mask: word, value: word })
    .map(({ index, mask, value }) => ({
      index,
      op: "SCMP_CMP_MASKED_EQ" as const,
      value: mask,
      valueTwo: value & mask,
    })),
);

const rule: fc.Arbitrary<SeccompRule> = fc
  .record({
    names: fc.oneof(
      fc.array(fc.constantFrom(...popularNames), { minLength: 1, maxLength: 3 }),
      fc.array(names, { minLength: 1, maxLength: 30 }),
    ),
    action,
    args: fc.uniqueArray(condition, { maxLength: 4, selector: ({ index }) => index }),
  })
  .map(({ names, action, args }) => ({ names, args, ...action }));

const archMap: SeccompProfile["archMap"] = [
  { architecture: "SCMP_ARCH_X86_64", subArchitectures: [] },
  { architecture: "SCMP_ARCH_AARCH64", subArchitectures: [] },
];

const profiles: fc.Arbitrary<SeccompProfile> = fc
  .record({ fallback: action, syscalls: fc.array(rule, { maxLength: 30, size: "max" }) })
  .map(({ fallback, syscalls }) => ({
    defaultAction: fallback.action,
    ...("errnoRet" in fallback && { defaultErrnoRet: fallback.errnoRet }),
    archMap,
    syscalls,
  }));

function callsOn(arch: SeccompArch): fc.Arbitrary<SeccompCall> {
  const number = (name: string): number => SYSCALL_NUMBERS[name]![arch] ?? 600;
  return fc.record({
    auditArch: fc.oneof(
      { weight: 20, arbitrary: fc.constant(AUDIT[arch]) },
      { weight: 1, arbitrary: fc.constantFrom(0x40000003, AUDIT.x64, AUDIT.arm64, 0) },
    ),
    nr: fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...popularNames).map(number) },
      { weight: 4, arbitrary: names.map(number) },
      {
        weight: 1,
        arbitrary: fc.constantFrom(335, 451, 0x3fffffff, 0x40000000, 0x40000001, 0xfffffffe, 0xffffffff),
      },
    ),
    args: fc.array(word, { minLength: 6, maxLength: 6 }),
  });
}

function profileOf(syscalls: SeccompRule[]): SeccompProfile {
  return { defaultAction: "SCMP_ACT_ERRNO", archMap, syscalls };
}

describe("compileSeccomp", () => {
  it.each(ARCHES)("decides on %s as the profile reads, for any profile and call", (arch) => {
    fc.assert(
      fc.property(profiles, fc.array(callsOn(arch), { minLength: 40, maxLength: 40 }), (profile, calls) => {
        const program = decodeBpf(compileSeccomp(profile, arch));
        for (const call of calls) expect(simulateSeccomp(program, call)).toBe(evaluate(profile, arch, call));
      }),
      { numRuns: 400, interruptAfterTimeLimit: 20_000 },
    );
  });

  it.each(ARCHES)("makes programs for %s that the kernel would load", (arch) => {
    fc.assert(
      fc.property(profiles, (profile) => expectLoadable(decodeBpf(compileSeccomp(profile, arch)))),
      { numRuns: 25, interruptAfterTimeLimit: 20_000 },
    );
    expectLoadable(decodeBpf(compileSeccomp(PROFILE, arch)));
  });

  it.each(ARCHES)("reaches every rule on %s when the program is far longer than one jump", (arch) => {
    const profile = profileOf(
      Object.keys(SYSCALL_NUMBERS).map((name, i) => ({
        names: [name],
        action: "SCMP_ACT_ALLOW",
        args: [{ index: 0, value: (1n << 32n) + BigInt(i), op: "SCMP_CMP_GE" }],
      })),
    );
    const program = decodeBpf(compileSeccomp(profile, arch));
    expect(program.some(({ code, k }) => code === BPF.JUMP && k > 255)).toBe(true);
    expectLoadable(program);
    Object.values(SYSCALL_NUMBERS).forEach((row, i) => {
      if (row[arch] === undefined) return;
      const bound = (1n << 32n) + BigInt(i);
      const verdict = (argument: bigint): number =>
        simulateSeccomp(program, { auditArch: AUDIT[arch], nr: row[arch]!, args: [argument] });
      expect([verdict(bound - 1n), verdict(bound), verdict(1n << 40n)]).toEqual([EPERM, ALLOW, ALLOW]);
    });
  });

  it("lets the first matching entry win", () => {
    const program = decodeBpf(
      compileSeccomp(
        profileOf([
          { names: ["read"], action: "SCMP_ACT_TRAP", args: [{ index: 0, value: 7, op: "SCMP_CMP_EQ" }] },
          { names: ["read", "write"], action: "SCMP_ACT_ALLOW" },
          { names: ["write"], action: "SCMP_ACT_KILL" },
        ]),
        "x64",
      ),
    );
    const verdict = (nr: number, first: bigint): number =>
      simulateSeccomp(program, { auditArch: AUDIT.x64, nr, args: [first] });
    expect([verdict(0, 7n), verdict(0, 8n), verdict(1, 7n)]).toEqual([RETURNS.SCMP_ACT_TRAP, ALLOW, ALLOW]);
  });

  it("treats -1 as an unknown call and every other x32 number as refused, even when the default allows", () => {
    const program = decodeBpf(
      compileSeccomp({ defaultAction: "SCMP_ACT_ALLOW", archMap, syscalls: [] }, "x64"),
    );
    const verdict = (nr: number): number => simulateSeccomp(program, { auditArch: AUDIT.x64, nr });
    expect([0x3fffffff, 0x40000000, 0xfffffffe, 0xffffffff].map(verdict)).toEqual([
      ALLOW,
      EPERM,
      EPERM,
      ALLOW,
    ]);
  });

  it("skips a name of the other architecture", () => {
    const profile = profileOf([{ names: ["open"], action: "SCMP_ACT_ALLOW" }]);
    const program = decodeBpf(compileSeccomp(profile, "arm64"));
    expect(simulateSeccomp(program, { auditArch: AUDIT.arm64, nr: 2 })).toBe(EPERM);
  });

  const read = { names: ["read"], action: "SCMP_ACT_ALLOW" };
  const when = (condition: object): object => ({ ...read, args: [condition] });
  const equal = { index: 0, value: 0, op: "SCMP_CMP_EQ" };
  it.each<[string, object]>([
    ["an unknown default action", { defaultAction: "SCMP_ACT_MAYBE" }],
    ["a default errno of 0", { defaultErrnoRet: 0 }],
    ["an unknown key", { flags: [] }],
    ["a missing list of calls", { syscalls: undefined }],
    ["an architecture we lack", { archMap: [{ architecture: "SCMP_ARCH_S390X", subArchitectures: [] }] }],
    ["no entry for this architecture", { archMap: [archMap[1]] }],
    [
      "a second ABI",
      { archMap: [{ architecture: "SCMP_ARCH_X86_64", subArchitectures: ["SCMP_ARCH_X32"] }] },
    ],
    ["a call unknown everywhere", { syscalls: [{ ...read, names: ["raed"] }] }],
    ["a call named like a property of every object", { syscalls: [{ ...read, names: ["constructor"] }] }],
    ["no names", { syscalls: [{ ...read, names: [] }] }],
    ["an unknown action", { syscalls: [{ ...read, action: "SCMP_ACT_NOTIFY" }] }],
    ["an errno with an action that has none", { syscalls: [{ ...read, errnoRet: 1 }] }],
    ["an errno beyond the kernel's", { syscalls: [{ ...read, action: "SCMP_ACT_ERRNO", errnoRet: 4096 }] }],
    ["an entry for some capabilities only", { syscalls: [{ ...read, includes: { caps: ["CAP_BPF"] } }] }],
    ["an unknown operator", { syscalls: [when({ ...equal, op: "SCMP_CMP_LIKE" })] }],
    ["argument 6", { syscalls: [when({ ...equal, index: 6 })] }],
    ["argument -1", { syscalls: [when({ ...equal, index: -1 })] }],
    ["a negative value", { syscalls: [when({ ...equal, value: -1 })] }],
    ["a value JSON has rounded", { syscalls: [when({ ...equal, value: 2 ** 64 - 1 })] }],
    ["a value wider than 64 bits", { syscalls: [when({ ...equal, value: 1n << 64n })] }],
    ["a second value without a mask", { syscalls: [when({ ...equal, valueTwo: 1 })] }],
    ["a mask that never matches", { syscalls: [when({ ...equal, valueTwo: 1, op: "SCMP_CMP_MASKED_EQ" })] }],
    ["two conditions on one argument", { syscalls: [{ ...read, args: [equal, equal] }] }],
  ])("refuses %s", (_, change) => {
    const profile = { ...profileOf([]), ...change } as SeccompProfile;
    expect(() => compileSeccomp(profile, "x64")).toThrow(expect.objectContaining({ code: "CONFIG_INVALID" }));
  });

  it("refuses a profile of more than 4096 instructions", () => {
    const syscalls = Array.from({ length: 2000 }, (_, i): SeccompRule => {
      return { names: ["read"], action: "SCMP_ACT_LOG", args: [{ index: 0, value: i, op: "SCMP_CMP_EQ" }] };
    });
    expect(() => compileSeccomp(profileOf(syscalls), "x64")).toThrow(/at most 4096 instructions/);
  });
});

import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBpf, type SeccompCall, simulateSeccomp } from "../../../../../test/setup/simulate-seccomp.js";
import { ARCHITECTURES, compileSeccomp } from "./compile.js";
import { PROFILE } from "./profile.js";
import { parseSeccompProfile, type SeccompProfile } from "./profile-format.js";
import { type SeccompArch, SYSCALL_NUMBERS } from "./syscall-numbers.js";

const ARCHES: readonly SeccompArch[] = ["x64", "arm64"];
const HIGH = 1n << 32n;
const KILL_PROCESS = 0x80000000;
const NAMES = new Map([
  [0x7fff0000, "allow"],
  [0x00050001, "EPERM"],
  [0x00050026, "ENOSYS"],
]);

const programs = {
  x64: decodeBpf(compileSeccomp(PROFILE, "x64")),
  arm64: decodeBpf(compileSeccomp(PROFILE, "arm64")),
};

/** What becomes of a call on every architecture that has it; they have to agree. */
function verdict(name: string, ...args: (number | bigint)[]): string | undefined {
  const verdicts = ARCHES.flatMap((arch) => {
    const nr = SYSCALL_NUMBERS[name]![arch];
    if (nr === undefined) return [];
    const call = { auditArch: ARCHITECTURES[arch].audit, nr, args: args.map(BigInt) };
    return NAMES.get(simulateSeccomp(programs[arch], call));
  });
  expect(new Set(verdicts).size).toBe(1);
  return verdicts[0];
}

/** Calls aimed at the conditions: each argument is near a number some entry compares with. */
function callsNearConditions(arch: SeccompArch): fc.Arbitrary<SeccompCall> {
  const conditions = PROFILE.syscalls.flatMap((rule) => rule.args ?? []);
  const seeds = [
    0n,
    1n,
    3n,
    ...conditions.flatMap(({ value, valueTwo = 0 }) => [BigInt(value), BigInt(valueTwo)]),
  ];
  const word = fc
    .record({
      seed: fc.constantFrom(...seeds),
      flips: fc.array(fc.bigInt({ min: 0n, max: 63n }), { maxLength: 2 }),
    })
    .map(({ seed, flips }) => flips.reduce((value, bit) => value ^ (1n << bit), seed));
  const conditional = PROFILE.syscalls.flatMap((rule) => (rule.args ? rule.names : []));
  const number = (name: string): number[] => {
    const nr = SYSCALL_NUMBERS[name]![arch];
    return nr === undefined ? [] : [nr];
  };
  const all = Object.keys(SYSCALL_NUMBERS).flatMap(number);
  return fc.record({
    auditArch: fc.constant<number>(ARCHITECTURES[arch].audit),
    nr: fc.oneof(fc.constantFrom(...new Set(conditional.flatMap(number))), fc.constantFrom(...all)),
    args: fc.array(word, { minLength: 6, maxLength: 6 }),
  });
}

describe("the profile", () => {
  it("survives JSON unchanged, so that Docker can read it", () => {
    expect(parseSeccompProfile(JSON.parse(JSON.stringify(PROFILE)))).toEqual(PROFILE);
  });

  it("says of every entry what it is for", () => {
    expect(PROFILE.syscalls.filter((rule) => !rule.comment)).toEqual([]);
  });

  it("names no call without conditions twice", () => {
    const names = PROFILE.syscalls.filter((rule) => !rule.args).flatMap((rule) => rule.names);
    const conditional = new Set(PROFILE.syscalls.filter((rule) => rule.args).flatMap((rule) => rule.names));
    expect(names.filter((name, i) => names.indexOf(name) !== i || conditional.has(name))).toEqual([]);
  });

  it.each(ARCHES)("means the same on %s in any order, which libseccomp does not keep", (arch) => {
    const backwards: SeccompProfile = { ...PROFILE, syscalls: PROFILE.syscalls.toReversed() };
    const program = decodeBpf(compileSeccomp(backwards, arch));
    fc.assert(
      fc.property(callsNearConditions(arch), (call) => {
        expect(simulateSeccomp(program, call)).toBe(simulateSeccomp(programs[arch], call));
      }),
      { numRuns: 5000, interruptAfterTimeLimit: 20_000 },
    );
  });

  it.for(ARCHES)(
    "means the same on %s when libseccomp compiles it, as Docker has it do",
    (arch, { skip }) => {
      const script = fileURLToPath(new URL("libseccomp-oracle.py", import.meta.url));
      const { status, stdout, stderr } = spawnSync(
        "/usr/bin/python3",
        [script, `${ARCHITECTURES[arch].audit}`],
        {
          input: JSON.stringify(PROFILE),
        },
      );
      if (status === null || /cannot open shared object/.test(`${stderr}`))
        return skip("needs python3 and libseccomp");
      expect(`${stderr}`).toBe("");
      const oracle = decodeBpf(stdout);
      fc.assert(
        fc.property(callsNearConditions(arch), (call) => {
          expect(simulateSeccomp(programs[arch], call)).toBe(simulateSeccomp(oracle, call));
        }),
        { numRuns: 5000, interruptAfterTimeLimit: 20_000 },
      );
    },
  );

  it.each(ARCHES)("kills a process of another architecture than %s", (arch) => {
    const others = [
      0x40000003,
      0x40000028,
      0xc00000f3,
      ARCHITECTURES[arch === "x64" ? "arm64" : "x64"].audit,
    ];
    const verdicts = others.map((auditArch) => simulateSeccomp(programs[arch], { auditArch, nr: 0 }));
    expect(verdicts).toEqual(others.map(() => KILL_PROCESS));
  });

  it.each([
    ["namespaces", "unshare setns"],
    [
      "mounts",
      "mount umount2 pivot_root chroot fsopen fsconfig fsmount fspick move_mount open_tree mount_setattr",
    ],
    ["other processes", "ptrace process_vm_readv process_vm_writev process_madvise pidfd_getfd kcmp"],
    ["kernel programs and tracing", "bpf perf_event_open userfaultfd lookup_dcookie"],
    ["keys", "keyctl add_key request_key"],
    ["file handles", "open_by_handle_at name_to_handle_at fanotify_init fanotify_mark"],
    ["modules and boot", "init_module finit_module delete_module kexec_load kexec_file_load reboot"],
    ["hardware", "iopl ioperm modify_ldt"],
    ["clocks", "settimeofday clock_settime adjtimex clock_adjtime"],
    [
      "the host",
      "swapon swapoff acct quotactl quotactl_fd syslog sethostname setdomainname vhangup sync syncfs",
    ],
    ["relics", "nfsservctl uselib ustat sysfs _sysctl remap_file_pages vmsplice"],
    ["message queues", "msgget msgsnd msgrcv msgctl mq_open mq_timedsend"],
    ["memory elsewhere", "move_pages migrate_pages mbind set_mempolicy memfd_secret"],
  ])("refuses %s with EPERM", (_, names) => {
    const verdicts = Object.fromEntries(names.split(" ").map((name) => [name, verdict(name)]));
    expect(verdicts).toEqual(Object.fromEntries(names.split(" ").map((name) => [name, "EPERM"])));
  });

  it("answers ENOSYS where callers have a fallback", () => {
    const names = [
      "clone3",
      "io_uring_setup",
      "io_uring_enter",
      "io_uring_register",
      "io_setup",
      "io_submit",
    ];
    expect(names.map((name) => verdict(name))).toEqual(names.map(() => "ENOSYS"));
  });

  it("answers ENOSYS to calls newer than the table, so that libc falls back", () => {
    for (const arch of ARCHES) {
      const call = { auditArch: ARCHITECTURES[arch].audit, nr: 452 };
      expect(NAMES.get(simulateSeccomp(programs[arch], call))).toBe("ENOSYS");
    }
  });

  it("lets clone make threads and processes, and no namespace or sibling", () => {
    const thread = 0x3d0f00;
    const refused = [0x8000, 0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000];
    expect([17, thread, 0x1200011, 0x4111].map((flags) => verdict("clone", flags))).toEqual(
      Array.from({ length: 4 }, () => "allow"),
    );
    const flags = refused.flatMap((flag) => [BigInt(flag), BigInt(flag | 17), BigInt(flag) | HIGH]);
    expect(flags.map((flag) => verdict("clone", flag))).toEqual(flags.map(() => "EPERM"));
  });

  it("lets ioctl do all but three things, whatever the high bits say", () => {
    const refused = new Set([0x5412, 0x541c, 0x5423]);
    for (let request = 0; request < 0x10000; request++) {
      expect(verdict("ioctl", 0, request)).toBe(refused.has(request) ? "EPERM" : "allow");
    }
    for (const request of refused) {
      expect(verdict("ioctl", 0, BigInt(request) | HIGH)).toBe("EPERM");
      expect(verdict("ioctl", 0, BigInt(request) | (0xffffffffn << 32n))).toBe("EPERM");
      expect(verdict("ioctl", 0, request + 0x10000)).toBe("allow");
    }
    expect(verdict("ioctl", 0, 0xc0045878)).toBe("allow");
  });

  it("lets socket make local, TCP and UDP sockets only, whatever the high bits say", () => {
    const STREAM = 1 | 0x80000;
    const DGRAM = 2 | 0x80800;
    const allowed: [bigint | number, number, number][] = [
      [1, 1, 0],
      [1, 5, 0],
      [2, STREAM, 0],
      [2, STREAM, 6],
      [2, DGRAM, 17],
      [10, STREAM, 6],
      [10, DGRAM, 0],
      [HIGH | 1n, 1, 0],
    ];
    expect(allowed.map((args) => verdict("socket", ...args))).toEqual(allowed.map(() => "allow"));
    const families = Array.from({ length: 64 }, (_, i) => i).filter((i) => ![1, 2, 10].includes(i));
    for (const family of families) {
      for (const word of [BigInt(family), BigInt(family) | HIGH]) {
        expect([family, verdict("socket", word, 1, 0), verdict("socketpair", word, 1, 0)]).toEqual([
          family,
          "EPERM",
          "EPERM",
        ]);
      }
    }
    const refused: [bigint | number, number | bigint, number][] = [
      [2, 3, 0],
      [2, 3, 1],
      [2, 3n | HIGH, 255],
      [2, 10, 0],
      [10, 3, 58],
      [2, 2, 1],
      [2, 5, 132],
      [2, STREAM, 132],
      [2, STREAM, 262],
      [2, DGRAM, 115],
    ];
    expect(refused.map((args) => verdict("socket", ...args))).toEqual(refused.map(() => "EPERM"));
    expect(verdict("socketpair", 1, 1, 0)).toBe("allow");
  });

  it("lets mknod make files, FIFOs and sockets, and no device", () => {
    const kinds = {
      file: 0x8000,
      unspecified: 0,
      fifo: 0x1000,
      socket: 0xc000,
      character: 0x2000,
      block: 0x6000,
    };
    const verdicts = Object.values(kinds).map((kind) => [
      verdict("mknod", 0, kind | 0o666),
      verdict("mknodat", 0, 0, BigInt(kind | 0o666) | HIGH),
    ]);
    const both = (word: string): string[] => [word, word];
    expect(verdicts).toEqual(["allow", "allow", "allow", "allow", "EPERM", "EPERM"].map(both));
  });

  it("lets personality change nothing that weakens a process", () => {
    const values = [0, 8, 0x20000, 0x20008, 0xffffffff, 0x40000, 0x400000, 0x40008, 4];
    expect(values.map((value) => verdict("personality", value))).toEqual(
      values.map((_, i) => (i < 5 ? "allow" : "EPERM")),
    );
    expect(verdict("personality", HIGH | 0x40000n)).toBe("EPERM");
  });

  it.each([
    ["sched_setaffinity", []],
    ["sched_setattr", []],
    ["sched_setparam", []],
    ["sched_setscheduler", []],
    ["setpriority", [0]],
    ["ioprio_set", [1]],
  ])("lets %s change the caller itself and no other process", (name, before) => {
    const others = [1n, 2n, 0xffffffffn, 1n | HIGH];
    expect([0n, HIGH].map((pid) => verdict(name, ...before, pid, 1))).toEqual(["allow", "allow"]);
    expect(others.map((pid) => verdict(name, ...before, pid, 1))).toEqual(others.map(() => "EPERM"));
  });

  it("lets priorities be set for a process only, never for a group or a user", () => {
    expect([1, 2, 3].map((which) => verdict("setpriority", which, 0))).toEqual(["EPERM", "EPERM", "EPERM"]);
    expect([0, 2, 3].map((which) => verdict("ioprio_set", which, 0))).toEqual(["EPERM", "EPERM", "EPERM"]);
  });

  it("lets prlimit64 read the limits of any process, and set those of the caller itself", () => {
    const limits = 0x7fff0000n;
    expect([0, 1, 77].map((pid) => verdict("prlimit64", pid, 1, 0))).toEqual(["allow", "allow", "allow"]);
    expect(verdict("prlimit64", 0, 1, limits)).toBe("allow");
    const others = [1n, 77n, 1n | HIGH, 0xffffffffn];
    expect(others.map((pid) => verdict("prlimit64", pid, 1, limits))).toEqual(others.map(() => "EPERM"));
    expect(verdict("prlimit64", 1, 1, HIGH)).toBe("EPERM");
  });

  it("lets setsockopt set all but socket filters, whatever the high bits say", () => {
    const filters = new Set([26, 50, 51, 52]);
    for (let option = 0; option < 128; option++) {
      expect(verdict("setsockopt", 3, 1, option)).toBe(filters.has(option) ? "EPERM" : "allow");
      expect(verdict("setsockopt", 3, 6, option)).toBe("allow");
    }
    expect(verdict("setsockopt", 3, 1n | HIGH, 26n | HIGH)).toBe("EPERM");
  });
});

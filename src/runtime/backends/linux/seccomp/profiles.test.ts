import { describe, expect, it } from "vitest";
import { decodeBpf, simulateSeccomp } from "../../../../../test/setup/simulate-seccomp.js";
import { ARCHITECTURES, compileSeccomp } from "./compile.js";
import { PROFILES } from "./profiles.js";
import { SYSCALL_NUMBERS } from "./syscall-numbers.js";

const ALLOW = 0x7fff0000;
const EPERM = 0x00050001;
const SIGNAL_CALLS = ["kill", "tkill", "tgkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_open"];

describe("the profile of programs inside gVisor", () => {
  const programs = {
    gvisor: decodeBpf(compileSeccomp(PROFILES.gvisor, "x64")),
    sandbox: decodeBpf(compileSeccomp(PROFILES.sandbox, "x64")),
  };
  const verdict = (profile: keyof typeof programs, name: string, ...args: (number | bigint)[]) =>
    simulateSeccomp(programs[profile], {
      auditArch: ARCHITECTURES.x64.audit,
      nr: SYSCALL_NUMBERS[name]!.x64!,
      args: args.map(BigInt),
    });

  it.each(SIGNAL_CALLS)("keeps %s from the first process, whatever the high bits say", (name) => {
    const first = [1n, 1n | (1n << 32n), 1n | (0xffffffffn << 32n)];
    expect(first.map((pid) => verdict("gvisor", name, pid, 19))).toEqual(first.map(() => EPERM));
    const others = [0n, 2n, 3n, 65537n, 0x7fffffffn, 0xffffffffn, 0xffffffffffffffffn, (1n << 64n) - 300n];
    expect(others.map((pid) => verdict("gvisor", name, pid, 19))).toEqual(others.map(() => ALLOW));
  });

  it("keeps programs from having signals sent, by fcntl and by ioctl", () => {
    const high = (word: number) => BigInt(word) | (1n << 32n);
    const fcntl = [8, 10, 15, high(8)].map((command) => verdict("gvisor", "fcntl", 3, command, 1));
    const ioctl = [0x8901, 0x8902, 0x5412, high(0x8901)].map((request) =>
      verdict("gvisor", "ioctl", 3, request),
    );
    expect([...fcntl, ...ioctl]).toEqual(Array.from({ length: 8 }, () => EPERM));
    const others = [0, 1, 2, 3, 4, 9, 11, 14, 16, 1030].map((command) =>
      verdict("gvisor", "fcntl", 3, command),
    );
    expect([...others, verdict("gvisor", "ioctl", 3, 0x5401)]).toEqual(
      Array.from({ length: 11 }, () => ALLOW),
    );
  });

  it("is the sandboxes' own in everything else", () => {
    const others = Object.keys(SYSCALL_NUMBERS).filter(
      (name) => !SIGNAL_CALLS.includes(name) && SYSCALL_NUMBERS[name]!.x64 !== undefined,
    );
    for (const name of others) {
      for (const args of [[0], [1], [2, 1, 0], [0x10000000], [0, 0x5412]]) {
        expect([name, verdict("gvisor", name, ...args)]).toEqual([name, verdict("sandbox", name, ...args)]);
      }
    }
  });
});

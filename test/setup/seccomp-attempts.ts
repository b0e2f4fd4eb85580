import { PROFILE } from "../../src/runtime/backends/linux/seccomp/profile.js";
import type { SeccompProfile } from "../../src/runtime/backends/linux/seccomp/profile-format.js";
import {
  type SeccompArch,
  SYSCALL_NUMBERS,
} from "../../src/runtime/backends/linux/seccomp/syscall-numbers.js";

export const EPERM = 1;
export const ENOSYS = 38;
// Errors the kernel never gives: they show that the filter refused, not a missing privilege.
export const MARK = 3999;
export const MARK_MISSING = 3998;
/** The profile, with those errors instead of its own. */
export const MARKED_PROFILE: SeccompProfile = {
  ...PROFILE,
  defaultErrnoRet: MARK,
  syscalls: PROFILE.syscalls.map((rule) =>
    rule.errnoRet === ENOSYS ? { ...rule, errnoRet: MARK_MISSING } : rule,
  ),
};

/** A call to try: its name and arguments. */
export type Attempt = readonly [label: string, name: string, ...args: (number | bigint)[]];

/** The calls as `probe.c` reads them. */
export function writeAttempts(attempts: readonly Attempt[], arch: SeccompArch): string {
  const lines = attempts.map(([label, name, ...args]) => {
    const number = SYSCALL_NUMBERS[name]?.[arch] ?? name;
    return [label, number, ...Array.from({ length: 6 }, (_, i) => args[i] ?? 0)].join(" ");
  });
  return `${lines.join("\n")}\n`;
}

/** What `probe.c` says of each: "ok", "errno 1", "signal 31". */
export function readOutcomes(text: string): Record<string, string> {
  const lines = text.trim().split("\n");
  return Object.fromEntries(lines.map((line) => line.split(/ (.*)/).slice(0, 2)));
}

/** The same outcome for each. */
export function each(attempts: readonly Attempt[], outcome: string): Record<string, string> {
  return Object.fromEntries(attempts.map(([label]) => [label, outcome]));
}

const HIGH = 1n << 32n;
const CLONE_NEWUSER = 0x10000000;

/** Attacks an unprivileged process could otherwise carry out or at least start: without the filter, not EPERM. */
export const OPEN_TO_ANYONE: readonly Attempt[] = [
  ["unshare-user", "unshare", CLONE_NEWUSER],
  ["clone-user", "clone", CLONE_NEWUSER | 17],
  ["clone-parent", "clone", 0x8000 | 17],
  ["clone-user-high-bits", "clone", BigInt(CLONE_NEWUSER | 17) | HIGH],
  ["ptrace-traceme", "ptrace", 0],
  ["process_vm_readv", "process_vm_readv", 1],
  ["process_vm_writev", "process_vm_writev", 1],
  ["pidfd_getfd", "pidfd_getfd", -1],
  ["process_madvise", "process_madvise", -1],
  ["setns", "setns", -1],
  ["keyctl", "keyctl", 0, -3],
  ["add_key", "add_key"],
  ["request_key", "request_key"],
  ["name_to_handle_at", "name_to_handle_at", -100],
  ["personality-no-randomize", "personality", 0x40000],
  ["personality-high-bits", "personality", HIGH | 0x40000n],
  ["ioctl-TIOCSTI", "ioctl", 0, 0x5412],
  ["ioctl-TIOCSTI-high-bits", "ioctl", 0, HIGH | 0x5412n],
  ["ioctl-TIOCLINUX", "ioctl", 0, 0x541c],
  ["ioctl-TIOCSETD-all-high-bits", "ioctl", 0, 0xffffffff00005423n],
  ["socket-netlink", "socket", 16, 3, 0],
  ["socket-netlink-high-bits", "socket", HIGH | 16n, 3, 0],
  ["socket-netlink-datagram", "socket", 16, 2, 0],
  ["socket-alg", "socket", 38, 5, 0],
  ["socket-vsock", "socket", 40, 1, 0],
  ["socket-vsock-high-bits", "socket", HIGH | 40n, 1, 0],
  ["socket-mptcp", "socket", 2, 1, 262],
  ["socketpair-inet", "socketpair", 2, 1, 0],
  ["prlimit64-of-the-first-process", "prlimit64", 1, 1, 1],
  ["setsockopt-filter", "setsockopt", -1, 1, 26],
  ["setsockopt-reuseport-filter-high-bits", "setsockopt", -1, HIGH | 1n, HIGH | 51n],
];

/** Attacks that need privileges as well: only the mark shows that the filter is what stops them. */
export const PRIVILEGED: readonly Attempt[] = [
  ["socket-packet", "socket", 17, 3, 0],
  ["socket-raw", "socket", 2, 3, 1],
  ["socket-raw-high-bits", "socket", 2, HIGH | 3n, 1],
  ["socket-raw6", "socket", 10, 3, 58],
  ["mknodat-device", "mknodat", -100, 0, 0x2000],
  ["mknodat-device-high-bits", "mknodat", -100, 0, HIGH | 0x6000n],
  ["clone-all", "clone", 0x7e020011],
];

/** Every call that the profile does not name. */
export function unnamedCalls(arch: SeccompArch): Attempt[] {
  const named = new Set(PROFILE.syscalls.flatMap((rule) => rule.names));
  return Object.entries(SYSCALL_NUMBERS).flatMap(([name, row]): Attempt[] =>
    row[arch] === undefined || named.has(name) ? [] : [[name, name]],
  );
}

import { readText } from "./cgroup/host-groups.js";

/** Numbers of capabilities, as in capabilities(7). */
const BITS = {
  CHOWN: 0n,
  DAC_OVERRIDE: 1n,
  FOWNER: 3n,
  KILL: 5n,
  SETGID: 6n,
  SETUID: 7n,
  SYS_PTRACE: 19n,
  SYS_ADMIN: 21n,
} as const;

/** What root takes for sandboxes of other users: their files are theirs, and so are the processes that it ends. */
const FOR_SANDBOXES = ["CHOWN", "DAC_OVERRIDE", "FOWNER", "KILL", "SETGID", "SETUID"] as const;

/** Whether this process may use the capability. Root of a container has few of them. */
export function hasCapability(
  name: keyof typeof BITS,
  status: string = readText("/proc/self/status"),
): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)/m.exec(status)?.[1] ?? "0";
  return ((BigInt(`0x${effective}`) >> BITS[name]) & 1n) === 1n;
}

/** Those of them that this process lacks, as "CAP_KILL". */
export function missingForSandboxes(status?: string): string[] {
  return FOR_SANDBOXES.filter((name) => !hasCapability(name, status)).map((name) => `CAP_${name}`);
}

/** False: what root may do here ends at a user namespace, as in a rootless container. */
export function isInitialUserNamespace(uidMap: string = readText("/proc/self/uid_map")): boolean {
  const [inside, outside, count] = uidMap.trim().split(/\s+/).map(Number);
  return inside === 0 && outside === 0 && count === 4_294_967_295;
}

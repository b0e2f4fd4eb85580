import { allow, allowWhen, low, PROFILE } from "./profile.js";
import type { SeccompProfile, SeccompRule } from "./profile-format.js";

const AF_NETLINK = 16;
const NETLINK_ROUTE = 0;

/** What Skerry and bubblewrap do before a program is behind the sandbox's own filter. */
const BEFORE_PROGRAMS: readonly SeccompRule[] = [
  allow(
    "Namespaces of a sandbox, and its files: without privileges in the container, they take a user namespace first",
    "clone unshare setns mount umount2 pivot_root sethostname",
  ),
  allow("The user that a sandbox runs as", "setgroups setfsuid setfsgid"),
  allow("A sandbox's limits, and how its interpreters are scheduled", "prlimit64 sched_setattr setpriority"),
  allow("Device nodes of a sandbox's own, for a root that may make them", "mknod mknodat"),
  ...allowWhen("The loopback of a sandbox", "socket", [[low(0, AF_NETLINK), low(2, NETLINK_ROUTE)]]),
];

const changed = new Set(
  BEFORE_PROGRAMS.filter(({ args }) => args === undefined).flatMap(({ names }) => names),
);

/**
 * For a container that Skerry with bubblewrap runs in: what programs in sandboxes may ask of the kernel, and what it takes to
 * make sandboxes. Docker's own profile allows no user namespace.
 */
export const CONTAINER_PROFILE: SeccompProfile = {
  ...PROFILE,
  syscalls: [
    // An entry with conditions beside one without would count for nothing.
    ...PROFILE.syscalls.filter(({ names }) => !names.some((name) => changed.has(name))),
    ...BEFORE_PROGRAMS,
  ],
};

import { expect, it } from "vitest";
import { explainStart, LOAD_PROFILE } from "./explain-start.js";
import { type HostSigns, readHostSigns } from "./host-signs.js";

const HOST: HostSigns = { isRoot: false, isFiltered: false, users: "0 0 4294967295", procMounts: [] };
const DOCKER: HostSigns = { ...HOST, container: "Docker", isFiltered: true };
const UBUNTU: HostSigns = { ...HOST, maxUserNamespaces: 15_000, usernsClone: 1, apparmorRestricts: 1 };

const NO_NAMESPACE =
  "bwrap: No permissions to create new namespace, likely because the kernel does not allow non-privileged user namespaces. See <https://deb.li/bubblewrap> or <file:///usr/share/doc/bubblewrap/README.Debian.gz>.";
const DOCKER_LINE =
  "docker run --security-opt seccomp=deploy/container/seccomp-skerry.json --security-opt systempaths=unconfined";
const GUIDE = "docs/operate/in-a-container.md has the whole line.";
const inDocker = (what: string) => ({
  what: `this Docker container keeps sandboxes out: ${what}`,
  remedy: `${DOCKER_LINE} – ${GUIDE}`,
});

// Each as bubblewrap or the launcher prints it.
it.each<[string, HostSigns, { what: string; remedy: string }]>([
  [NO_NAMESPACE, DOCKER, inDocker("user namespaces are refused")],
  [
    "bwrap: No permissions to creating new namespace, likely because the kernel does not allow non-privileged user namespaces.",
    { ...HOST, usernsClone: 0 },
    {
      what: "user namespaces are switched off for ordinary users, whom sandboxes run as",
      remedy: "sysctl -w kernel.unprivileged_userns_clone=1",
    },
  ],
  [
    "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
    { ...HOST, maxUserNamespaces: 0 },
    { what: "user namespaces are switched off", remedy: "sysctl -w user.max_user_namespaces=15000" },
  ],
  [
    "bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
    { ...HOST, maxUserNamespaces: 15_000 },
    {
      what: "there are too many user namespaces, or too many inside each other",
      remedy: "sysctl -w user.max_user_namespaces=15000",
    },
  ],
  [
    "bwrap: Creating new namespace failed, likely because the kernel does not support user namespaces.  bwrap must be installed setuid on such systems.",
    HOST,
    {
      what: "this kernel has no user namespaces",
      remedy: "Use a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS and CONFIG_CGROUPS.",
    },
  ],
  [
    "bwrap: pivot_root: Operation not permitted",
    DOCKER,
    inDocker("nothing can be mounted in a user namespace"),
  ],
  [
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    DOCKER,
    inDocker("parts of /proc are hidden, so a sandbox cannot have a /proc of its own"),
  ],
  [
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
    HOST,
    {
      what: "parts of /proc are mounted over, so a sandbox cannot have a /proc of its own",
      remedy: "Unmount what is mounted below /proc: findmnt -R /proc",
    },
  ],
  [
    "bwrap: cannot open /proc/sys/user/max_user_namespaces: Read-only file system",
    DOCKER,
    inDocker("/proc/sys is read-only, so that user namespaces inside cannot be ruled out"),
  ],
  [
    "bwrap: setting up uid map: Permission denied",
    UBUNTU,
    { what: "AppArmor lets bubblewrap have no privileges in a user namespace", remedy: LOAD_PROFILE },
  ],
  [
    "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
    UBUNTU,
    { what: "AppArmor lets bubblewrap have no privileges in a user namespace", remedy: LOAD_PROFILE },
  ],
  [
    "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted",
    { ...UBUNTU, container: "Docker" },
    {
      what: "AppArmor lets bubblewrap have no privileges in a user namespace",
      remedy: `On the host, in Skerry's package: ${LOAD_PROFILE}`,
    },
  ],
  ["bwrap: setting up uid map: Permission denied", DOCKER, inDocker("the map of user ids cannot be written")],
  [
    "bwrap: Failed to make / slave: Permission denied",
    { ...DOCKER, profile: "docker-default (enforce)" },
    {
      what: "this Docker container keeps sandboxes out: nothing can be mounted in a user namespace",
      remedy: `${DOCKER_LINE} --security-opt apparmor=unconfined – ${GUIDE}`,
    },
  ],
  [
    NO_NAMESPACE,
    { ...HOST, isFiltered: true },
    {
      what: "user namespaces are refused, by a filter for system calls that this process is under",
      remedy:
        "Start Skerry without that filter: a service with SystemCallFilter= or RestrictNamespaces=, or another sandbox, has one.",
    },
  ],
  [
    NO_NAMESPACE,
    HOST,
    {
      what: "user namespaces are refused",
      remedy: "Another security module (SELinux, AppArmor) may be why: journalctl -k",
    },
  ],
  [
    "skerry-guest: cannot become uid 1900000001: Invalid argument",
    { ...HOST, isRoot: true, users: "0 100000 65536" },
    {
      what: "this user namespace has no user ids for sandboxes (uid_map: 0 100000 65536)",
      remedy:
        "Give the container a range of user ids (/etc/subuid, newuidmap), set backends.bubblewrap.uidRange to ids that exist in it, or run Skerry as an ordinary user.",
    },
  ],
  [
    "skerry-guest: refusing to run as root",
    DOCKER,
    {
      what: "this user's group is root's (gid 0), and sandboxes are in none of root's",
      remedy:
        "Give the user a group of its own: start the container as 1000:1000, or a pod with runAsGroup: 1000.",
    },
  ],
  [
    "bwrap: Unknown option --disable-userns",
    HOST,
    { what: "bubblewrap is too old", remedy: "Install version 0.8 or newer." },
  ],
])("explains %s", (said, signs, expected) => {
  expect(explainStart(said, signs)).toEqual(expected);
});

it("explains nothing that it does not know", () => {
  expect(explainStart("bwrap: The stars are wrong", DOCKER)).toBeUndefined();
});

it.each([
  [{ KUBERNETES_SERVICE_HOST: "10.0.0.1" }, "Kubernetes"],
  [{ KUBERNETES_SERVICE_HOST: "10.0.0.1", container: "oci" }, "Kubernetes"],
])("sees what kind of container this is: %j", (env, kind) => {
  expect(readHostSigns(env).container).toBe(kind);
});

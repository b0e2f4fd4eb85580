import type { Probe } from "../backend.js";
import type { HostSigns } from "./host-signs.js";

type Problem = Probe["problems"][number];

/** The oldest bubblewrap that has every option that a sandbox is started with. */
export const OLDEST_VERSION = "0.8";

/** All that a container keeps from a sandbox at once: who is told one by one starts it four times. */
const CONTAINER_OPTIONS: Readonly<Record<NonNullable<HostSigns["container"]>, string>> = {
  Docker:
    "docker run --security-opt seccomp=deploy/container/seccomp-skerry.json --security-opt systempaths=unconfined",
  Podman: "podman run --security-opt seccomp=deploy/container/seccomp-skerry.json --security-opt unmask=ALL",
  Kubernetes:
    "In the pod: hostUsers: false, and in securityContext procMount: Unmasked and a seccompProfile of type Localhost with deploy/container/seccomp-skerry.json",
  container:
    "Start it with deploy/container/seccomp-skerry.json for its system calls, and with the whole of /proc",
};
const APPARMOR_OPTION: Readonly<Record<NonNullable<HostSigns["container"]>, string>> = {
  Docker: " --security-opt apparmor=unconfined",
  Podman: " --security-opt apparmor=unconfined",
  Kubernetes: ", and an appArmorProfile of type Unconfined",
  container: ", and without an AppArmor profile",
};
const CONTAINER_GUIDE = "docs/operate/in-a-container.md has the whole line.";

/** Runs in the package's directory. */
export const LOAD_PROFILE =
  "install -D -m 644 deploy/apparmor/skerry-bwrap /etc/apparmor.d/skerry-bwrap && apparmor_parser -r /etc/apparmor.d/skerry-bwrap";

interface Explanation {
  /** What bubblewrap, or our launcher before it, says. */
  readonly says: RegExp;
  readonly explain: (signs: HostSigns) => Problem;
}

/** From the most telling message to the least. */
const EXPLANATIONS: readonly Explanation[] = [
  {
    says: /unknown option/i,
    explain: () => ({
      what: "bubblewrap is too old",
      remedy: `Install version ${OLDEST_VERSION} or newer.`,
    }),
  },
  {
    says: /cannot become uid \d+: Invalid argument/,
    explain: whyNoUsers,
  },
  {
    // A container's user without a name in /etc/passwd has that group.
    says: /refusing to run as root/,
    explain: () => ({
      what: "this user's group is root's (gid 0), and sandboxes are in none of root's",
      remedy:
        "Give the user a group of its own: start the container as 1000:1000, or a pod with runAsGroup: 1000.",
    }),
  },
  { says: /No permissions to creat\w+ (?:a )?new namespace/i, explain: whyNoNamespace },
  {
    says: /max_\*_namespaces exceeded|\(ENOSPC\)/,
    explain: (signs) =>
      signs.maxUserNamespaces === 0
        ? whyNoNamespace(signs)
        : {
            what: "there are too many user namespaces, or too many inside each other",
            remedy: "sysctl -w user.max_user_namespaces=15000",
          },
  },
  {
    says: /kernel does not support (?:it|user namespaces)/,
    explain: () => ({
      what: "this kernel has no user namespaces",
      remedy: "Use a kernel with CONFIG_USER_NS, CONFIG_PID_NS, CONFIG_NET_NS and CONFIG_CGROUPS.",
    }),
  },
  {
    says: /setting up [ug]id map/,
    explain: (signs) =>
      whyRestricted(signs) ?? whyNoPrivileges(signs, "the map of user ids cannot be written"),
  },
  {
    says: /loopback: |Can't set hostname/,
    explain: (signs) => whyRestricted(signs) ?? whyNoPrivileges(signs, "the namespaces cannot be set up"),
  },
  {
    says: /Can't mount proc/,
    explain: (signs) =>
      inContainer(signs, "parts of /proc are hidden, so a sandbox cannot have a /proc of its own") ?? {
        what: "parts of /proc are mounted over, so a sandbox cannot have a /proc of its own",
        remedy: "Unmount what is mounted below /proc: findmnt -R /proc",
      },
  },
  {
    says: /max_user_namespaces/,
    explain: (signs) =>
      inContainer(signs, "/proc/sys is read-only, so that user namespaces inside cannot be ruled out") ?? {
        what: "/proc/sys is read-only, so that user namespaces inside a sandbox cannot be ruled out",
        remedy: "mount -o remount,rw /proc/sys",
      },
  },
  {
    says: /pivot_root|Failed to make \/ slave|Failed to mount tmpfs|Can't mount|Can't bind mount|make old root rprivate/,
    explain: (signs) => whyNoPrivileges(signs, "nothing can be mounted in a user namespace"),
  },
];

/** What a message of a sandbox's start means on this host, and what helps; undefined: it is none that we know. */
export function explainStart(said: string, signs: HostSigns): Problem | undefined {
  return EXPLANATIONS.find(({ says }) => says.test(said))?.explain(signs);
}

/** Root of a rootless container has only the users that were mapped into it. */
export function whyNoUsers(signs: HostSigns): Problem {
  const { users } = signs;
  if (signs.maxUserNamespaces === 0) return whyNoNamespace(signs);
  return {
    what: `this user namespace has no user ids for sandboxes (uid_map: ${users})`,
    remedy:
      "Give the container a range of user ids (/etc/subuid, newuidmap), set backends.bubblewrap.uidRange to ids that exist in it, or run Skerry as an ordinary user.",
  };
}

function whyNoNamespace(signs: HostSigns): Problem {
  if (signs.maxUserNamespaces === 0)
    return { what: "user namespaces are switched off", remedy: "sysctl -w user.max_user_namespaces=15000" };
  if (signs.usernsClone === 0) {
    return {
      what: "user namespaces are switched off for ordinary users, whom sandboxes run as",
      remedy: "sysctl -w kernel.unprivileged_userns_clone=1",
    };
  }
  return whyNoPrivileges(signs, "user namespaces are refused");
}

/** AppArmor lets a program without a profile make a user namespace, and have no privileges in it. */
function whyRestricted({ apparmorRestricts, container, profile }: HostSigns): Problem | undefined {
  if (apparmorRestricts !== 1 || profile !== undefined) return undefined;
  return {
    what: "AppArmor lets bubblewrap have no privileges in a user namespace",
    remedy: container === undefined ? LOAD_PROFILE : `On the host, in Skerry's package: ${LOAD_PROFILE}`,
  };
}

/** Those in the order in which they are common. A container's walls are met before the host's. */
function whyNoPrivileges(signs: HostSigns, what: string): Problem {
  const contained = inContainer(signs, what);
  if (contained !== undefined) return contained;
  const restricted = whyRestricted(signs);
  if (restricted !== undefined) return restricted;
  return {
    what: signs.isFiltered ? `${what}, by a filter for system calls that this process is under` : what,
    remedy: signs.isFiltered
      ? "Start Skerry without that filter: a service with SystemCallFilter= or RestrictNamespaces=, or another sandbox, has one."
      : "Another security module (SELinux, AppArmor) may be why: journalctl -k",
  };
}

function inContainer(signs: HostSigns, what: string): Problem | undefined {
  const { container, profile } = signs;
  if (container === undefined) return undefined;
  const options = `${CONTAINER_OPTIONS[container]}${profile === undefined ? "" : APPARMOR_OPTION[container]}`;
  const name = container === "container" ? "container" : `${container} container`;
  return { what: `this ${name} keeps sandboxes out: ${what}`, remedy: `${options} – ${CONTAINER_GUIDE}` };
}

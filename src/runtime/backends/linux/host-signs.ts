import { existsSync } from "node:fs";
import { readMounts, readText } from "./cgroup/host-groups.js";

/** What explains why a sandbox cannot start. None of it proves that one cannot. */
export interface HostSigns {
  readonly isRoot: boolean;
  /** What kind of container this is; left out: none that shows. */
  readonly container?: "Docker" | "Podman" | "Kubernetes" | "container";
  /** System calls of this process are filtered. */
  readonly isFiltered: boolean;
  /** The AppArmor profile that this process is in; left out: none. */
  readonly profile?: string;
  /** Settings of the kernel; left out: this kernel has not got it. */
  readonly maxUserNamespaces?: number;
  readonly usernsClone?: number;
  readonly apparmorRestricts?: number;
  /** Which users exist here. */
  readonly users: string;
  /** What is mounted below /proc, and hides parts of it. */
  readonly procMounts: readonly string[];
}

/** Reads them. Costs less than a millisecond. */
export function readHostSigns(env: NodeJS.ProcessEnv = process.env): HostSigns {
  const profile = readText("/proc/self/attr/current").trim().replaceAll("\0", "");
  const container = findContainer(env);
  const number = <Name extends string>(name: Name, path: string) => {
    const text = readText(`/proc/sys/${path}`).trim();
    return (text === "" ? {} : { [name]: Number(text) }) as { [Key in Name]?: number };
  };
  return {
    isRoot: process.getuid?.() === 0,
    ...(container !== undefined && { container }),
    isFiltered: /^Seccomp:\s*2$/m.test(readText("/proc/self/status")),
    ...(profile !== "" && profile !== "unconfined" && { profile }),
    ...number("maxUserNamespaces", "user/max_user_namespaces"),
    ...number("usernsClone", "kernel/unprivileged_userns_clone"),
    ...number("apparmorRestricts", "kernel/apparmor_restrict_unprivileged_userns"),
    users: readText("/proc/self/uid_map").trim().replaceAll(/\s+/g, " "),
    procMounts: readMounts("/proc")
      .map(({ path }) => path)
      .filter((path) => path.startsWith("/proc/")),
  };
}

function findContainer(env: NodeJS.ProcessEnv): HostSigns["container"] {
  if (env["KUBERNETES_SERVICE_HOST"]) return "Kubernetes";
  if (existsSync("/.dockerenv")) return "Docker";
  if (existsSync("/run/.containerenv")) return "Podman";
  return env["container"] ? "container" : undefined;
}

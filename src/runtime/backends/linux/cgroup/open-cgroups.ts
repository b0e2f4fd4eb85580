import { existsSync } from "node:fs";
import { type CgroupBase, findCgroupBase, findUnifiedHost } from "./cgroup-base.js";
import { readMounts } from "./host-groups.js";
import { findUnifiedGroup, openUnifiedGroup, remedyFor } from "./unified-group.js";
import { enterUserScope } from "./user-scope.js";

/** Where this process may make groups, or why it may not. */
export interface OpenedCgroups {
  readonly base?: CgroupBase;
  readonly problem?: { readonly what: string; readonly remedy: string };
}

let opened: Promise<OpenedCgroups> | undefined;

/**
 * Finds where this process may make groups, and gets ready what that takes: it may move this process and its children to a
 * leaf of their group, or to a scope that the user's systemd makes for them. Done once; nothing of it outlives the process
 * but what version 2 shares, and an empty leaf in a group that was given to us.
 */
export function openCgroups(): Promise<OpenedCgroups> {
  opened ??= open("/proc");
  return opened;
}

async function open(proc: string): Promise<OpenedCgroups> {
  const unified = findUnifiedHost(proc);
  if (unified === undefined || isLegacy(proc)) {
    const base = findCgroupBase(proc);
    if (base !== undefined) return { base };
    const remedy = process.getuid?.() === 0 ? remedyFor(true) : "Run as root.";
    return { problem: { what: "no writable control group", remedy } };
  }
  const group = findUnifiedGroup(unified);
  if ("path" in group) return openGroup(group, proc);
  const directory = process.env["XDG_RUNTIME_DIR"] || `/run/user/${process.getuid?.() ?? 0}`;
  const canAsk = !unified.isRoot && !group.isOwnUnit && existsSync(`${directory}/systemd/private`);
  if (!canAsk) return { problem: group };
  try {
    await enterUserScope(directory);
  } catch (error) {
    const said = (error as Error).message;
    return { problem: { what: `the user's systemd gave us no scope: ${said}`, remedy: group.remedy } };
  }
  const scope = findUnifiedGroup(findUnifiedHost(proc) ?? unified);
  return "path" in scope ? openGroup(scope, proc) : { problem: scope };
}

function openGroup(group: { readonly path: string; readonly leave: boolean }, proc: string): OpenedCgroups {
  const base = openUnifiedGroup(group, proc) ? findCgroupBase(proc) : undefined;
  if (base !== undefined) return { base };
  return {
    problem: {
      what: "the kernel does not let our control group share memory limits with groups below it",
      remedy: "Start Skerry in a group of its own, such as a service with Delegate=yes.",
    },
  };
}

/** Version 1 has the memory controller: version 2, if it is there, has not. */
function isLegacy(proc: string): boolean {
  return readMounts(proc).some(({ type, options }) => type === "cgroup" && options.includes("memory"));
}

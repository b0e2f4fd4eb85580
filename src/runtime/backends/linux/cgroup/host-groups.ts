import { readFileSync } from "node:fs";
import { join } from "node:path";

interface Mount {
  readonly path: string;
  readonly type: string;
  readonly options: readonly string[];
}

/** What is mounted where, for this process. */
export function readMounts(proc: string): Mount[] {
  return readText(join(proc, "self/mounts"))
    .split("\n")
    .map((line) => line.split(" "))
    .filter((fields) => fields.length >= 4)
    .map(([, path, type, options]) => ({ path: path!, type: type!, options: options!.split(",") }));
}

/** Which group a process is in, by controller; version 2's is named "". */
export function readGroups(proc: string, pid: string): Map<string, string> {
  const groups = new Map<string, string>();
  for (const line of readText(join(proc, pid, "cgroup")).split("\n")) {
    const [, controllers, path] = /^\d+:([^:]*):(.*)$/.exec(line) ?? [];
    if (path === undefined) continue;
    for (const controller of controllers!.split(",")) groups.set(controller, path);
  }
  return groups;
}

/** A file that is not there, or not to be read: "". */
export function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

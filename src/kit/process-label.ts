import { readFileSync } from "node:fs";

/**
 * Names that say which process made a thing: `<pid>-<start time>-<id>`. Whoever finds the thing later can tell
 * whether its maker is still alive, even if the pid has been used again.
 */
export function labelFor(id: string): string {
  return `${process.pid}-${ownStartTime()}-${id}`;
}

/** True when the process in the label is gone. False for anything that is not a label. */
export function isOrphaned(label: string): boolean {
  const match = /^(\d{1,10})-(\d{1,20})-/.exec(label);
  if (match === null) return false;
  return startTimeOf(match[1]!) !== match[2];
}

let cached: string | undefined;

function ownStartTime(): string {
  cached ??= startTimeOf("self") ?? "0";
  return cached;
}

function startTimeOf(pid: string): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in brackets may contain anything; the fields after the last bracket do not.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // One that has ended but was not collected yet makes nothing any more.
    return fields[0] === "Z" || fields[0] === "X" ? undefined : fields[19];
  } catch {
    return undefined;
  }
}

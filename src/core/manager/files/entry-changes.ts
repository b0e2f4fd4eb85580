import type { Entry } from "../../../runtime/workspace/index.js";

/** What happened to one entry of a workspace. */
export interface EntryChange {
  readonly type: "created" | "modified" | "deleted";
  /** Relative to the workspace, as a program named it: escape it before showing it. */
  readonly path: string;
  /** What it is, or was. */
  readonly entryType: Entry["type"];
}

/** What is there, by path. */
export type EntriesByPath = ReadonlyMap<string, Entry>;

/** Deleted entries, the deepest first; then new and changed ones. An entry that changed its type is both. */
export function entryChanges(before: EntriesByPath, after: EntriesByPath): EntryChange[] {
  const gone: EntryChange[] = [];
  const come: EntryChange[] = [];
  for (const [path, { type }] of before) {
    if (after.get(path)?.type !== type) gone.push({ type: "deleted", path, entryType: type });
  }
  for (const [path, entry] of after) {
    const known = before.get(path);
    if (known?.type !== entry.type) come.push({ type: "created", path, entryType: entry.type });
    else if (isChanged(known, entry)) come.push({ type: "modified", path, entryType: entry.type });
  }
  return [...gone.sort(byPath).reverse(), ...come.sort(byPath)];
}

/** A directory changes with everything in it, which is told by itself. */
function isChanged(known: Entry, entry: Entry): boolean {
  if (known.mode !== entry.mode) return true;
  return entry.type !== "directory" && (known.size !== entry.size || known.modifiedMs !== entry.modifiedMs);
}

function byPath(one: EntryChange, other: EntryChange): number {
  return one.path < other.path ? -1 : 1;
}

import { Readable } from "node:stream";
import { importArchive } from "../../src/runtime/workspace/snapshots/import-archive.js";
import type {
  SnapshotEntry,
  SnapshotInfo,
  SnapshotLimits,
} from "../../src/runtime/workspace/snapshots/snapshot.js";
import { kept } from "./snapshot-workspace.js";

/** Imports an archive into the session of the test. */
export function load(
  archive: Buffer | Readable,
  limits: Partial<SnapshotLimits> = {},
  signal?: AbortSignal,
): Promise<SnapshotInfo> {
  const store = kept.store(limits);
  const source = Buffer.isBuffer(archive) ? Readable.from([archive]) : archive;
  return store.add({ sessionId: "test", signal }, (stage) =>
    importArchive(source, stage, { limits: store.limits, signal }),
  );
}

/** What a snapshot of it has. */
export async function entriesOf(id: string): Promise<SnapshotEntry[]> {
  const snapshot = await kept.store().open(id);
  const entries: SnapshotEntry[] = [];
  for await (const entry of snapshot.entries()) entries.push(entry);
  await snapshot.close();
  return entries;
}

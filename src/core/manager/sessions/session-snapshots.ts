import { join } from "node:path";
import type { Readable } from "node:stream";
import { exportFrom, importInto, type SnapshotOptions } from "../../../runtime/sandbox/index.js";
import { type SnapshotInfo, SnapshotStore, snapshotIdOf } from "../../../runtime/workspace/index.js";
import type { SnapshotsConfig } from "../../config/index.js";

/** The snapshots in a session's directory, beside the workspace: no backend shows it to programs. */
export function openSnapshotStore(sessionPath: () => string, limits: SnapshotsConfig): SnapshotStore {
  return new SnapshotStore(() => join(sessionPath(), "snapshots"), limits);
}

/** Removes what killed processes left of snapshots in these sessions; resolves to how many things. */
export async function reapSnapshots(sessions: readonly string[], limits: SnapshotsConfig): Promise<number> {
  let count = 0;
  for (const path of sessions) count += await openSnapshotStore(() => path, limits).tidy();
  return count;
}

/** The snapshots of a session that need not run. SESSION_NOT_FOUND: there is none of that key. */
export class SessionSnapshots {
  readonly #sessionId: string;
  readonly #store: SnapshotStore;

  /** The path throws where there is no session. @internal */
  constructor(sessionId: string, path: () => string, limits: SnapshotsConfig) {
    this.#sessionId = sessionId;
    this.#store = openSnapshotStore(path, limits);
  }

  /** All of them, the newest first. */
  async list(): Promise<SnapshotInfo[]> {
    return this.#store.list();
  }

  /** False: there is none of that id. */
  async delete(snapshot: string | SnapshotInfo): Promise<boolean> {
    return this.#store.remove(snapshotIdOf(snapshot));
  }

  /** As an uncompressed tar. Read the stream to its end or destroy it. */
  async export(snapshot: string | SnapshotInfo): Promise<Readable> {
    return exportFrom(this.#store, snapshot);
  }

  /** A snapshot of what a tar has: files, directories, and links that stay inside. Nothing else is taken. */
  async import(archive: Readable | Uint8Array, options: SnapshotOptions = {}): Promise<SnapshotInfo> {
    return importInto(this.#store, this.#sessionId, archive, options);
  }
}

import { randomBytes } from "node:crypto";
import { link, mkdir, readdir, rename, rm, stat, unlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { ifMissing } from "../../../kit/if-missing.js";
import { isOrphaned, processLabel } from "../../../kit/process-label.js";
import { TimeSlice } from "../time-slice.js";
import { collectBlobs } from "./collect-blobs.js";
import { OpenSnapshot } from "./open-snapshot.js";
import {
  checkSnapshotName,
  isSnapshotId,
  type SnapshotEntry,
  type SnapshotInfo,
  type SnapshotLimits,
  snapshotNotFound,
} from "./snapshot.js";
import { formatRecord, readRecord, type SnapshotRecord } from "./snapshot-record.js";
import { blobPath, isComplete, removeStage, Stage } from "./stage.js";
import { StoreLock } from "./store-lock.js";

const RECORD = ".json";
const ENTRIES = ".entries";
const UNFINISHED = ".new-";
const IN_USE = ".use-";

/** What goes into a new snapshot. */
export interface SnapshotContents {
  /** Sorted by path, each beneath directories that are there as well. */
  readonly entries: readonly SnapshotEntry[];
  readonly skipped: number;
}

export interface AddOptions {
  readonly sessionId: string;
  readonly name?: string | undefined;
  /** It goes when this process does, and is not listed. */
  readonly isTemporary?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The snapshots of one session, in a directory that no sandbox sees:
 *
 *   <id>.json            what it is; written last, removed first
 *   <id>.entries         what is in it: a line for each file, directory and link
 *   blobs/<2>/<sha256>   contents, once for all snapshots
 *   .new-<process>/      contents of one that is being made
 *   .use-<process>.<id>  a second name of the entries of one that is being read, or that is that process's alone
 *
 * Several processes may use it at once, and any of them may be killed: contents go only when no list names them.
 */
export class SnapshotStore {
  readonly limits: SnapshotLimits;
  readonly #directory: () => string;
  readonly #lock = new StoreLock();

  /** The directory is made with the first snapshot; the one above it has to be there, and may move. */
  constructor(directory: () => string, limits: SnapshotLimits) {
    this.#directory = directory;
    this.limits = limits;
  }

  /** All of them, the newest first. */
  async list(): Promise<SnapshotInfo[]> {
    const directory = this.#directory();
    const records = await failingAsStore(() => this.#records(directory));
    const age = (a: SnapshotInfo, b: SnapshotInfo) => Number(b.createdAt) - Number(a.createdAt);
    return records
      .filter(({ heldBy }) => heldBy === undefined)
      .map(({ info }) => info)
      .sort((a, b) => age(a, b) || (a.id < b.id ? -1 : 1));
  }

  /** Throws SNAPSHOT_NOT_FOUND where there is none of that id here. */
  async find(id: string): Promise<SnapshotInfo> {
    const path = join(this.#directory(), id + RECORD);
    const record = isSnapshotId(id) ? await failingAsStore(() => readRecord(path, id)) : undefined;
    if (record === undefined) throw snapshotNotFound(id);
    return record.info;
  }

  /** Makes one of the caller's files; a failure leaves nothing. */
  async add(options: AddOptions, fill: (stage: Stage) => Promise<SnapshotContents>): Promise<SnapshotInfo> {
    const name = checkSnapshotName(options.name);
    const directory = this.#directory();
    return failingAsStore(async () => {
      const blobs = join(directory, "blobs");
      await makeOwnDirectory(directory);
      await makeOwnDirectory(blobs);
      const stage = await Stage.open(join(directory, UNFINISHED + newLabel()), blobs);
      try {
        const contents = await fill(stage);
        await stage.writeEntries(contents.entries);
        const about = { ...options, name };
        return await this.#lock.take(
          directory,
          () => this.#commit(directory, stage, contents, about),
          options.signal,
        );
      } finally {
        // What cannot be removed now is removed after this process has ended.
        await stage.discard().catch(() => undefined);
      }
    });
  }

  /** Opens one, which stays readable until it is closed, also when it is deleted meanwhile. */
  async open(id: string): Promise<OpenSnapshot> {
    const directory = this.#directory();
    const info = await this.find(id);
    return failingAsStore(async () => {
      const list = inUseBy(directory, newLabel(), id);
      await this.#lock.take(directory, async () => {
        if ((await readRecord(join(directory, id + RECORD), id)) === undefined) throw snapshotNotFound(id);
        await link(join(directory, id + ENTRIES), list);
      });
      const close = () => this.#lock.take(directory, () => this.#release(directory, list, id));
      return new OpenSnapshot(info, list, join(directory, "blobs"), close);
    });
  }

  /** Deletes one, with the contents that no other has. False: there is none of that id. */
  async remove(id: string): Promise<boolean> {
    const directory = this.#directory();
    return failingAsStore(async () => {
      const names = isSnapshotId(id) ? await namesIn(directory) : [];
      if (!names.includes(id + RECORD)) return false;
      return this.#lock.take(directory, () => this.#remove(directory, id));
    });
  }

  /** Removes what killed processes left; resolves to how many things. */
  async tidy(): Promise<number> {
    const directory = this.#directory();
    return failingAsStore(async () => {
      if ((await this.#leftovers(directory)).length === 0) return 0;
      return this.#lock.take(directory, () => this.#tidy(directory));
    });
  }

  async #commit(
    directory: string,
    stage: Stage,
    { entries, skipped }: SnapshotContents,
    { sessionId, name, isTemporary }: AddOptions,
  ): Promise<SnapshotInfo> {
    await this.#tidy(directory);
    const blobs = join(directory, "blobs");
    const fresh = await this.#assertFits(blobs, stage);
    const id = `snap-${randomBytes(8).toString("hex")}`;
    const files = entries.filter((entry) => entry.type === "file");
    const info: SnapshotInfo = {
      id,
      ...(name !== undefined && { name }),
      sessionId,
      createdAt: new Date(),
      files: files.length,
      bytes: files.reduce((sum, { size }) => sum + size, 0),
      storedBytes: fresh.reduce((sum, [, size]) => sum + size, 0),
      skipped,
    };
    const heldBy = isTemporary === true ? newLabel() : undefined;
    // If this process is killed from here on, another one finds what is left: a list without a record.
    await stage.moveEntries(join(directory, id + ENTRIES));
    try {
      const slice = new TimeSlice();
      for (const [sha256] of fresh) {
        const target = blobPath(blobs, sha256);
        await makeOwnDirectory(join(target, ".."));
        await rename(stage.pathOf(sha256), target);
        await slice.pass();
      }
      // The cleanup finds it by this name when this process is gone.
      if (heldBy !== undefined) await link(join(directory, id + ENTRIES), inUseBy(directory, heldBy, id));
      await stage.place(
        join(directory, id + RECORD),
        formatRecord({ info, ...(heldBy !== undefined && { heldBy }) }),
      );
      return info;
    } catch (error) {
      await this.#drop(directory, id, heldBy).catch(() => undefined);
      throw error;
    }
  }

  /** The contents that are new here; throws where they would be too much. */
  async #assertFits(blobs: string, stage: Stage): Promise<(readonly [sha256: string, size: number])[]> {
    const fresh: (readonly [string, number])[] = [];
    const slice = new TimeSlice();
    let bytes = 0;
    for (const [sha256, size] of stage.held) {
      if (await isComplete(blobPath(blobs, sha256), size)) continue;
      fresh.push([sha256, size]);
      bytes += size;
      await slice.pass();
    }
    const { maxStoredBytes } = this.limits;
    if (bytes === 0 || bytes + (await storedBytes(blobs)) <= maxStoredBytes) return fresh;
    throw new SandboxError("DISK_FULL", `A session's snapshots may have ${maxStoredBytes} bytes together`, {
      hint: "Delete some of them, or raise sandbox.snapshots.maxStored.",
    });
  }

  async #remove(directory: string, id: string): Promise<boolean> {
    const record = await readRecord(join(directory, id + RECORD), id).catch(() => undefined);
    const isThere = await unlink(join(directory, id + RECORD)).then(() => true, ifMissing(false));
    if (!isThere) return false;
    await this.#drop(directory, id, record?.heldBy);
    return true;
  }

  /** What is left of one without its record. */
  async #drop(directory: string, id: string, heldBy: string | undefined): Promise<void> {
    if (heldBy !== undefined) await rm(inUseBy(directory, heldBy, id), { force: true });
    await this.#collect(directory, join(directory, id + ENTRIES));
  }

  /** Ends a read; the snapshot may have been deleted meanwhile. */
  async #release(directory: string, list: string, id: string): Promise<void> {
    const isKept = (await namesIn(directory)).includes(id + RECORD);
    if (isKept) await rm(list, { force: true });
    else await this.#collect(directory, list);
  }

  async #collect(directory: string, list: string): Promise<void> {
    const names = new Set(await namesIn(directory));
    // Another process has cleaned up already.
    if (!names.has(basename(list))) return;
    const inUse = [...names].filter(
      (name) =>
        (name.endsWith(ENTRIES) && names.has(recordOf(name))) ||
        (name.startsWith(IN_USE) && !isOrphaned(name.slice(IN_USE.length))),
    );
    const others = inUse.map((name) => join(directory, name)).filter((path) => path !== list);
    await collectBlobs(join(directory, "blobs"), list, others);
  }

  async #tidy(directory: string): Promise<number> {
    const leftovers = await this.#leftovers(directory);
    for (const name of leftovers) {
      const path = join(directory, name);
      if (name.startsWith(UNFINISHED)) await removeStage(path);
      else if (name.startsWith(IN_USE))
        await this.#letGo(directory, path, name.slice(name.indexOf(".snap-") + 1));
      else await this.#collect(directory, path);
    }
    return leftovers.length;
  }

  /** The process that read it or owned it is gone. */
  async #letGo(directory: string, list: string, id: string): Promise<void> {
    const record = await readRecord(join(directory, id + RECORD), id).catch(() => undefined);
    const hasNoOwner = record?.heldBy !== undefined && isOrphaned(record.heldBy);
    if (hasNoOwner) await this.#remove(directory, id);
    await this.#release(directory, list, id);
  }

  /** What has no owner any more. Without the lock it is a guess: another process may be about to finish it. */
  async #leftovers(directory: string): Promise<string[]> {
    const names = new Set(await namesIn(directory));
    return [...names].filter(
      (name) =>
        (name.startsWith(UNFINISHED) && isOrphaned(name.slice(UNFINISHED.length))) ||
        (name.startsWith(IN_USE) && isOrphaned(name.slice(IN_USE.length))) ||
        (name.endsWith(ENTRIES) && !name.startsWith(".") && !names.has(recordOf(name))),
    );
  }

  async #records(directory: string): Promise<SnapshotRecord[]> {
    const ids = (await namesIn(directory))
      .filter((name) => name.endsWith(RECORD))
      .map((name) => name.slice(0, -RECORD.length))
      .filter(isSnapshotId);
    // One that cannot be read hides no other.
    const read = (id: string) => readRecord(join(directory, id + RECORD), id).catch(() => undefined);
    const records = await Promise.all(ids.map(read));
    return records.filter((record) => record !== undefined);
  }
}

function inUseBy(directory: string, label: string, id: string): string {
  return join(directory, `${IN_USE}${label}.${id}`);
}

function recordOf(entries: string): string {
  return entries.slice(0, -ENTRIES.length) + RECORD;
}

async function storedBytes(blobs: string): Promise<number> {
  let bytes = 0;
  for (const folder of await namesIn(blobs)) {
    const sizes = (await namesIn(join(blobs, folder))).map((name) =>
      stat(join(blobs, folder, name)).then(
        ({ size }) => size,
        () => 0,
      ),
    );
    for (const size of await Promise.all(sizes)) bytes += size;
  }
  return bytes;
}

/** Not the ones above it: a session that was deleted must not come back as an empty directory. */
async function makeOwnDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o700 });
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
}

async function namesIn(path: string): Promise<string[]> {
  return readdir(path).catch(ifMissing([]));
}

/** A name that tells which process made a file. */
function newLabel(): string {
  return processLabel(randomBytes(6).toString("hex"));
}

/** What a failed system call on the store means, without the host's path. */
async function failingAsStore<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const code = systemCode(error);
    if (error instanceof SandboxError || !(error instanceof Error) || !("syscall" in error)) throw error;
    if (code === "ENOSPC" || code === "EDQUOT") {
      throw new SandboxError("DISK_FULL", "There is no room for snapshots in the state directory", {
        hint: "Delete snapshots or sessions, or point SKERRY_STATE_DIR at another disk.",
        cause: error,
      });
    }
    throw new SandboxError(
      "FILE_FAILED",
      `The session's snapshots cannot be used: ${code ?? "unknown error"}`,
      {
        hint: "The session may have been deleted meanwhile. If not, look at the state directory.",
        cause: error,
      },
    );
  }
}

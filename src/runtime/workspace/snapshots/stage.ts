import { createHash } from "node:crypto";
import { type FileHandle, link, mkdir, open, rename, rm, stat, statfs, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { ifMissing } from "../../../kit/if-missing.js";
import { removeTree } from "../remove-tree.js";
import { SparseWriter } from "../sparse-write.js";
import type { Content, SnapshotEntry } from "./snapshot.js";
import { formatEntries } from "./snapshot-record.js";

/** Contents up to this size are not written before it is known that they are new. */
const IN_MEMORY_BYTES = 128 * 1024;
/** Sessions' disks are sparse files beside us: what is written into them on a full disk is lost. */
const LEAST_ROOM_BYTES = 64 * 1024 * 1024;
const CHECK_ROOM_BYTES = 32 * 1024 * 1024;
const ENTRIES = "entries";

/** Where a blob is, below the directory of all of them. */
export function blobPath(blobs: string, sha256: string): string {
  return join(blobs, sha256.slice(0, 2), sha256);
}

/**
 * The contents of a snapshot that is being made, in a directory of their own: whatever is deleted meanwhile, all of
 * them are here until the snapshot is in its place.
 */
export class Stage {
  readonly #directory: string;
  readonly #blobs: string;
  readonly #held = new Map<string, number>();
  #parts = 0;
  #unchecked = CHECK_ROOM_BYTES;

  private constructor(directory: string, blobs: string) {
    this.#directory = directory;
    this.#blobs = blobs;
  }

  static async open(directory: string, blobs: string): Promise<Stage> {
    await mkdir(directory, { mode: 0o700 });
    return new Stage(directory, blobs);
  }

  /** Sizes by hash, of all that is in it. */
  get held(): ReadonlyMap<string, number> {
    return this.#held;
  }

  /** Keeps a file's content, which is read to its end. Several may be kept at once. */
  async keep(content: AsyncIterable<Uint8Array>): Promise<Content> {
    const hash = createHash("sha256");
    const head: Uint8Array[] = [];
    let size = 0;
    let part: Part | undefined;
    try {
      for await (const chunk of content) {
        hash.update(chunk);
        size += chunk.length;
        if (part === undefined && size <= IN_MEMORY_BYTES) {
          head.push(chunk);
          continue;
        }
        if (part === undefined) {
          part = await Part.open(join(this.#directory, `part-${++this.#parts}`));
          for (const early of head.splice(0)) await part.take(early);
        }
        await this.#assertRoom(chunk.length);
        await part.take(chunk);
      }
      const sha256 = hash.digest("hex");
      if (!this.#held.has(sha256)) await this.#put({ sha256, size }, part ?? Buffer.concat(head));
      this.#held.set(sha256, size);
      return { sha256, size };
    } finally {
      await part?.discard();
    }
  }

  /** Writes down what the snapshot has. */
  async writeEntries(entries: Iterable<SnapshotEntry>): Promise<void> {
    await writeOnDisk(join(this.#directory, ENTRIES), formatEntries(entries));
  }

  /** Puts the entries in their place. */
  async moveEntries(path: string): Promise<void> {
    await rename(join(this.#directory, ENTRIES), path);
  }

  /** Puts a small file in its place, whole. */
  async place(path: string, text: string): Promise<void> {
    const unfinished = join(this.#directory, `part-${++this.#parts}`);
    await writeOnDisk(unfinished, [text]);
    await rename(unfinished, path);
  }

  /** The file that has a content. */
  pathOf(sha256: string): string {
    return join(this.#directory, sha256);
  }

  async discard(): Promise<void> {
    await removeStage(this.#directory);
  }

  async #put({ sha256, size }: Content, content: Part | Buffer): Promise<void> {
    const path = this.pathOf(sha256);
    const stored = blobPath(this.#blobs, sha256);
    try {
      // A second name for what is stored already: it stays, should the last snapshot that has it be deleted now.
      if ((await isComplete(stored, size)) && (await linked(stored, path))) return;
      if (content instanceof Part) await content.moveTo(path);
      else {
        await this.#assertRoom(content.length);
        await writeFile(path, content, { flag: "wx", mode: 0o600 });
      }
    } catch (error) {
      // Two files of one content at the same time.
      if (systemCode(error) !== "EEXIST") throw error;
    }
  }

  async #assertRoom(bytes: number): Promise<void> {
    this.#unchecked += bytes;
    if (this.#unchecked < CHECK_ROOM_BYTES) return;
    this.#unchecked = 0;
    const { bavail, bsize } = await statfs(this.#directory);
    if (bavail * bsize >= LEAST_ROOM_BYTES + CHECK_ROOM_BYTES) return;
    throw new SandboxError("DISK_FULL", "The disk of the state directory is nearly full", {
      hint: "Delete snapshots or sessions, or point SKERRY_STATE_DIR at another disk.",
    });
  }
}

/** A content that is too large for memory, until its hash is known. */
class Part {
  readonly #path: string;
  readonly #handle: FileHandle;
  readonly #writer: SparseWriter;

  private constructor(path: string, handle: FileHandle) {
    this.#path = path;
    this.#handle = handle;
    this.#writer = new SparseWriter(handle.fd);
  }

  static async open(path: string): Promise<Part> {
    return new Part(path, await open(path, "wx", 0o600));
  }

  async take(bytes: Uint8Array): Promise<void> {
    await this.#writer.take(bytes);
  }

  async moveTo(path: string): Promise<void> {
    this.#writer.finish();
    await rename(this.#path, path);
  }

  async discard(): Promise<void> {
    await this.#handle.close();
    await rm(this.#path, { force: true });
  }
}

/** Removes the directory of a stage, also when the session that it is in has gone. */
export async function removeStage(directory: string): Promise<void> {
  try {
    await removeTree(dirname(directory), basename(directory));
  } catch (error) {
    if (systemCode(error) !== "FILE_NOT_FOUND") throw error;
  }
}

/** Should the machine go down, contents that are cut are found out by their hash; a list that is cut could not be. */
async function writeOnDisk(path: string, text: Iterable<string>): Promise<void> {
  const handle = await open(path, "wx", 0o600);
  try {
    await writeFile(handle, text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** False for what is not there, or was cut when the machine went down. */
export async function isComplete(path: string, size: number): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.size === size;
}

/** False: it has gone since. */
async function linked(from: string, to: string): Promise<boolean> {
  return link(from, to).then(() => true, ifMissing(false));
}

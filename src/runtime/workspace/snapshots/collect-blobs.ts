import { readdir, unlink } from "node:fs/promises";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { readEntries } from "./snapshot-record.js";
import { blobPath } from "./stage.js";

/**
 * Removes the contents that only this list of entries names, then the list. The lists of all that is kept or in use are
 * given; a process that dies on the way leaves the list, and the next begins with it. For the holder of the store's lock.
 */
export async function collectBlobs(blobs: string, list: string, inUse: readonly string[]): Promise<void> {
  let unused = new Set<string>();
  const isComplete = await eachContent(list, (sha256) => unused.add(sha256));
  if (!isComplete) unused = await allContents(blobs);
  for (const other of inUse) {
    if (unused.size === 0) break;
    // What a damaged list named is unknown: then everything stays, until that one is deleted.
    if (!(await eachContent(other, (sha256) => unused.delete(sha256)))) return;
  }
  for (const sha256 of unused) await unlinkIfThere(blobPath(blobs, sha256));
  await unlinkIfThere(list);
}

/** False: the list is damaged. */
async function eachContent(list: string, take: (sha256: string) => unknown): Promise<boolean> {
  try {
    for await (const entry of readEntries(list, "")) if (entry.type === "file") take(entry.sha256);
    return true;
  } catch (error) {
    if (error instanceof SandboxError) return false;
    throw error;
  }
}

async function allContents(blobs: string): Promise<Set<string>> {
  const folders = (await readdir(blobs)).map((name) => readdir(`${blobs}/${name}`));
  return new Set((await Promise.all(folders)).flat());
}

async function unlinkIfThere(path: string): Promise<void> {
  await unlink(path).catch((error: unknown) => {
    if (systemCode(error) !== "ENOENT") throw error;
  });
}

import { existsSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname } from "node:path";

/** What is left on the file system of a path for users other than root. */
export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** Undefined: the file system has no fixed number of them. */
  readonly freeInodes: number | undefined;
  readonly totalInodes: number | undefined;
}

/** Of a path that need not be there yet. */
export async function diskSpace(path: string): Promise<DiskSpace> {
  let place = path;
  while (!existsSync(place) && dirname(place) !== place) place = dirname(place);
  const { bsize, blocks, bavail, files, ffree } = await statfs(place);
  const hasInodes = files > 0;
  return {
    freeBytes: bavail * bsize,
    totalBytes: blocks * bsize,
    freeInodes: hasInodes ? ffree : undefined,
    totalInodes: hasInodes ? files : undefined,
  };
}

const GIB = 1024 ** 3;
const SMALL_SHARE = 0.05;

/** True when the operator should make room. */
export function isDiskLow({ freeBytes, totalBytes, freeInodes, totalInodes }: DiskSpace): boolean {
  // A twentieth, and at least a gibibyte where the disk has that; but 20 of them are enough anywhere.
  const least = Math.max(totalBytes * SMALL_SHARE, Math.min(GIB, totalBytes / 5));
  if (freeBytes < Math.min(least, 20 * GIB)) return true;
  return freeInodes !== undefined && totalInodes !== undefined && freeInodes < totalInodes * SMALL_SHARE;
}

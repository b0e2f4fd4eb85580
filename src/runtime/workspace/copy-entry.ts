import { closeSync, futimesSync, lchownSync, readlinkSync, readSync, symlinkSync } from "node:fs";
import { systemCode } from "../../kit/errors.js";
import { writeAll } from "../../kit/write-all.js";
import { beneath, makeDirectories, type Owner, openRegularFile, withParent } from "./descriptor-walk.js";
import { fileError, PathTraversalError, quoted } from "./file-errors.js";
import { PendingFile, removeQuietly } from "./pending-file.js";
import type { RelativePath } from "./relative-path.js";

const CHUNK_BYTES = 256 * 1024;

/** A path beneath an open directory. */
export interface CopyTarget {
  readonly fd: number;
  readonly path: RelativePath;
}

/** Copies a regular file with its mode and times; what stands at the target is replaced. */
export function copyFile(from: CopyTarget, to: CopyTarget, owner: Owner | undefined): void {
  const source = openRegularFile(from.fd, from.path);
  try {
    inTargetDirectory(to, owner, (directoryFd, leaf) => {
      const pending = new PendingFile(directoryFd, source.stat.mode & 0o777, owner);
      try {
        const buffer = Buffer.allocUnsafeSlow(Math.min(CHUNK_BYTES, source.stat.size + 1));
        for (let count = readSync(source.fd, buffer); count > 0; count = readSync(source.fd, buffer)) {
          writeAll(pending.fd, buffer.subarray(0, count));
        }
        futimesSync(pending.fd, source.stat.atime, source.stat.mtime);
      } catch (error) {
        pending.discard();
        throw error;
      }
      pending.commit(leaf, false);
    });
  } finally {
    closeSync(source.fd);
  }
}

/** Copies a symbolic link that stays inside its own tree. */
export function copyLink(from: CopyTarget, to: CopyTarget, owner: Owner | undefined): void {
  const target = readInnerLink(from);
  inTargetDirectory(to, owner, (directoryFd, leaf) => {
    try {
      symlinkSync(target, beneath(directoryFd, leaf));
    } catch (error) {
      if (systemCode(error) !== "EEXIST") throw error;
      removeQuietly(directoryFd, leaf);
      symlinkSync(target, beneath(directoryFd, leaf));
    }
    if (owner !== undefined) lchownSync(beneath(directoryFd, leaf), owner.uid, owner.gid);
  });
}

/** Where a symbolic link points to; one that leaves its own tree is refused. */
export function readInnerLink(from: CopyTarget): string {
  const target = withParent(from.fd, from.path, (fd, leaf) => readlinkSync(beneath(fd, leaf)));
  if (staysInside(from.path.components.length - 1, target)) return target;
  throw new PathTraversalError(`${quoted(from.path.text)} is a symbolic link that leaves its directory`, {
    hint: "Replace the link by a copy, or by a relative link to a file in the same tree.",
  });
}

/**
 * Going up is allowed at the start only, and no higher than the link is deep: after a name, `..` would leave
 * whatever directory that name's own link leads to.
 */
export function staysInside(depth: number, target: string): boolean {
  if (target === "" || target.startsWith("/")) return false;
  let ups = 0;
  let named = false;
  for (const component of target.split("/")) {
    if (component === "" || component === ".") continue;
    if (component !== "..") named = true;
    else if (named || ++ups > depth) return false;
  }
  return true;
}

function inTargetDirectory(
  to: CopyTarget,
  owner: Owner | undefined,
  action: (fd: number, leaf: string) => void,
): void {
  const directoryFd = makeDirectories(to.fd, to.path.components.slice(0, -1), owner);
  try {
    action(directoryFd, to.path.components.at(-1)!);
  } catch (error) {
    throw fileError(error, to.path.text);
  } finally {
    if (directoryFd !== to.fd) closeSync(directoryFd);
  }
}

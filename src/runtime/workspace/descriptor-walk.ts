import {
  chownSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  type Stats,
} from "node:fs";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { directoryTypeError, fileError, linkError, quoted, typeError } from "./file-errors.js";
import type { RelativePath } from "./relative-path.js";

/** Linux only, and missing in Node's constants: the directory as a place, without the right to read it. */
const O_PATH = 0o10000000;
/** libuv adds O_CLOEXEC to every open. */
const OPEN_PLACE = O_PATH | constants.O_DIRECTORY;
/** O_NONBLOCK: opening a FIFO without a writer must not hang us. */
const OPEN_FILE = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;

/** Who owns the files of a workspace. */
export interface Owner {
  readonly uid: number;
  readonly gid: number;
}

/** An open workspace: its directory, and who owns what is made in it. */
export interface WorkspaceHandle {
  readonly descriptor: number;
  readonly owner: Owner | undefined;
}

/**
 * An entry of an open directory. Only the last component of such a path belongs to the guest, so a call that
 * does not follow its last component cannot be led anywhere else.
 */
export function beneath(directoryFd: number, name: string): string {
  return `/proc/self/fd/${directoryFd}/${name}`;
}

/** Opens a directory at a path of `beneath` or `entryPath`; a link is refused by the kernel, not by a check. */
export function openEntryDirectory(path: string | Buffer): number {
  return openSync(path, OPEN_PLACE | constants.O_NOFOLLOW);
}

/** A second descriptor of an open directory: it stays valid when the first is closed and its number reused. */
export function duplicateDirectory(fd: number): number {
  return openSync(`/proc/self/fd/${fd}`, OPEN_PLACE);
}

/** Opens a directory by a host path that no guest can change. */
export function openHostDirectory(hostPath: string): number {
  return openSync(hostPath, OPEN_PLACE);
}

/** Runs the action with the directory that holds the path's last component, then closes what it opened. */
export function withParent<T>(
  rootFd: number,
  path: RelativePath,
  action: (fd: number, leaf: string) => T,
): T {
  const leaf = path.components.at(-1);
  if (leaf === undefined) throw new SandboxError("INVALID_ARGUMENT", "The path names the workspace itself");
  const parentFd = openDirectory(rootFd, path.components.slice(0, -1));
  try {
    return action(parentFd, leaf);
  } catch (error) {
    throw fileError(error, path.text);
  } finally {
    if (parentFd !== rootFd) closeSync(parentFd);
  }
}

/** Opens the directory, or returns the root's own descriptor for no components: close it only if it differs. */
export function openDirectory(rootFd: number, components: readonly string[]): number {
  return walk(rootFd, components, (parentFd, name) => openEntryDirectory(beneath(parentFd, name)));
}

/** Like openDirectory, and makes the directories that are missing. */
export function makeDirectories(
  rootFd: number,
  components: readonly string[],
  owner: Owner | undefined,
): number {
  return walk(rootFd, components, (parentFd, name) => {
    try {
      return openEntryDirectory(beneath(parentFd, name));
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
    }
    return makeDirectory(parentFd, name, owner);
  });
}

function makeDirectory(parentFd: number, name: string, owner: Owner | undefined): number {
  try {
    mkdirSync(beneath(parentFd, name), 0o755);
  } catch (error) {
    if (systemCode(error) !== "EEXIST") throw error;
  }
  const fd = openEntryDirectory(beneath(parentFd, name));
  try {
    // The guest may have put another directory here meanwhile: give away only what is ours.
    if (owner !== undefined && fstatSync(fd).uid === process.geteuid?.()) {
      chownSync(`/proc/self/fd/${fd}`, owner.uid, owner.gid);
    }
  } catch (error) {
    closeSync(fd);
    throw error;
  }
  return fd;
}

type Step = (parentFd: number, name: string) => number;

function walk(rootFd: number, components: readonly string[], step: Step): number {
  let fd = rootFd;
  for (const [index, name] of components.entries()) {
    const parentFd = fd;
    try {
      fd = step(parentFd, name);
    } catch (error) {
      throw directoryError(error, parentFd, name, components.slice(0, index + 1).join("/"));
    } finally {
      if (parentFd !== rootFd) closeSync(parentFd);
    }
  }
  return fd;
}

/** The kernel says ENOTDIR for a link as for a file; the refusal stands, this only finds the better words. */
function directoryError(error: unknown, parentFd: number, name: string, path: string): SandboxError {
  if (systemCode(error) !== "ENOTDIR") return fileError(error, path);
  const found = lstatSync(beneath(parentFd, name), { throwIfNoEntry: false });
  if (found?.isSymbolicLink()) return linkError(path, error);
  return directoryTypeError(path, error);
}

export interface OpenFile {
  readonly fd: number;
  readonly stat: Stats;
}

/** Opens a regular file for reading; the caller closes the descriptor. */
export function openRegularFile(rootFd: number, path: RelativePath, owner?: Owner): OpenFile {
  return withParent(rootFd, path, (parentFd, leaf) => {
    const fd = openSync(beneath(parentFd, leaf), OPEN_FILE);
    try {
      const stat = fstatSync(fd);
      if (!stat.isFile()) throw typeError(path.text, describeType(stat));
      // A hard link to another user's file: the guest could never have made such a file itself.
      if (owner !== undefined && stat.nlink > 1 && stat.uid !== owner.uid) {
        throw new SandboxError("FILE_DENIED", `${quoted(path.text)} is a hard link to another user's file`, {
          hint: "Copy the file inside the sandbox and read the copy.",
        });
      }
      return { fd, stat };
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  });
}

function describeType(stat: Stats): string {
  if (stat.isDirectory()) return "a directory";
  if (stat.isFIFO()) return "a FIFO";
  if (stat.isSocket()) return "a socket";
  return "a device";
}

import { randomBytes } from "node:crypto";
import { chmodSync, closeSync, fstatSync, renameSync, rmdirSync, unlinkSync } from "node:fs";
import { setImmediate } from "node:timers/promises";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { type ByteName, byteNameOf, entryPath, textOf } from "./byte-name.js";
import { duplicateDirectory, openEntryDirectory, openHostDirectory } from "./descriptor-walk.js";
import { fileError, quoted } from "./file-errors.js";
import { openEntries } from "./tree-scan.js";

const SLICE_MS = 8;
const MAX_QUEUED_NAMES = 1024;
const MAX_IDLE_PASSES = 16;

export interface RemoveTreeOptions {
  /**
   * Processor time that it may take: a guest that is still running can add files as fast as we remove them, and a busy
   * machine does not make a tree larger. Default 60 s.
   */
  readonly maxCpuMs?: number;
  /** The path that messages show instead of the name. */
  readonly shownAs?: string;
}

/**
 * Removes a file, link or whole tree, however deep, wide or oddly named, without following a link. Resolves to
 * false when there was nothing. A number is an open directory: it may be closed as soon as this has returned.
 */
export async function removeTree(
  parent: number | string,
  name: string | Uint8Array,
  options: RemoveTreeOptions = {},
): Promise<boolean> {
  const target = byteNameOf(name);
  const shown = options.shownAs ?? textOf(target);
  if (target === "" || target === "." || target === ".." || /[/\0]/.test(target)) {
    throw new SandboxError("INVALID_ARGUMENT", `Cannot remove ${quoted(shown)}: expected a single name`);
  }
  try {
    const parentFd = typeof parent === "number" ? duplicateDirectory(parent) : openHostDirectory(parent);
    try {
      return await new Removal(target, shown, options.maxCpuMs ?? 60_000).run(parentFd);
    } finally {
      closeSync(parentFd);
    }
  } catch (error) {
    throw fileError(error, shown);
  }
}

/**
 * Keeps three directories open at most: the parent, the tree's top, and one below it. A directory found deeper is
 * moved up into the top first, so no path gets long and no stack gets deep.
 */
class Removal {
  readonly #target: ByteName;
  readonly #shown: string;
  readonly #maxCpuMs: number;
  #cpuMs = 0;
  #sliceEnd = performance.now() + SLICE_MS;
  #usageBefore = process.cpuUsage();
  #changes = 0;

  constructor(target: ByteName, shown: string, maxCpuMs: number) {
    this.#target = target;
    this.#shown = shown;
    this.#maxCpuMs = maxCpuMs;
  }

  async run(parentFd: number): Promise<boolean> {
    let idlePasses = 0;
    for (let found = false; ; found = true) {
      const left = removeEntry(parentFd, this.#target);
      if (left === "absent") return found;
      if (left === "removed") return true;
      const before = this.#changes;
      await this.#emptyTop(parentFd);
      idlePasses = this.#changes === before ? idlePasses + 1 : 0;
      if (idlePasses > MAX_IDLE_PASSES) throw this.#stillChanging();
      await this.#breathe();
    }
  }

  async #emptyTop(parentFd: number): Promise<void> {
    const topFd = enter(parentFd, this.#target);
    if (topFd === undefined) return;
    try {
      const { dev } = fstatSync(topFd);
      await this.#eachFullDirectory(topFd, async (name) => {
        const queue = [name];
        for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
          await this.#emptyInto(topFd, next, dev, queue);
          this.#note(removeEntry(topFd, next));
        }
      });
    } finally {
      closeSync(topFd);
    }
  }

  /** Empties one directory of the top; the directories in it move up, and the queue learns their new names. */
  async #emptyInto(topFd: number, name: ByteName, dev: number, queue: ByteName[]): Promise<void> {
    const fd = enter(topFd, name);
    if (fd === undefined) return;
    try {
      if (fstatSync(fd).dev !== dev) {
        throw new SandboxError("FILE_FAILED", `${quoted(this.#shown)} has another file system inside`, {
          hint: "Unmount it first.",
        });
      }
      await this.#eachFullDirectory(fd, (child) => {
        const moved = moveUp(fd, child, topFd);
        if (moved === undefined) return;
        this.#changes++;
        // A name that does not fit is met again in the next pass over the top.
        if (queue.length < MAX_QUEUED_NAMES) queue.push(moved);
      });
    } finally {
      closeSync(fd);
    }
  }

  /** Removes the entries that can be removed at once, and hands over the directories that are not empty. */
  async #eachFullDirectory(fd: number, handle: (name: ByteName) => Promise<void> | void): Promise<void> {
    const entries = openEntries(fd);
    if (entries === undefined) throw Object.assign(new Error("unreadable directory"), { code: "EACCES" });
    try {
      for (let entry = entries.readSync(); entry !== null; entry = entries.readSync()) {
        const left = removeEntry(fd, entry.name, entry.isDirectory());
        this.#note(left);
        if (left === "full") await handle(entry.name);
        if (performance.now() > this.#sliceEnd) await this.#breathe();
      }
    } finally {
      entries.closeSync();
    }
  }

  #note(left: Left): void {
    if (left === "removed") this.#changes++;
  }

  /** Lets the rest of the process run: a tree of a million files must not stop a server. */
  async #breathe(): Promise<void> {
    const { user, system } = process.cpuUsage(this.#usageBefore);
    this.#cpuMs += (user + system) / 1000;
    if (this.#cpuMs > this.#maxCpuMs) throw this.#stillChanging();
    await setImmediate();
    this.#sliceEnd = performance.now() + SLICE_MS;
    this.#usageBefore = process.cpuUsage();
  }

  #stillChanging(): SandboxError {
    return new SandboxError("FILE_FAILED", `${quoted(this.#shown)} could not be emptied in time`, {
      hint: "Stop the sandbox that uses it, then remove it again.",
    });
  }
}

type Left = "removed" | "absent" | "full";

/** Removes what can go in one call. The entry's type is a guess: the guest may change it at any moment. */
function removeEntry(fd: number, name: ByteName, directoryFirst = false): Left {
  const path = entryPath(fd, name);
  for (let attempt = 0, directory = directoryFirst; attempt < 8; attempt++) {
    try {
      if (directory) rmdirSync(path);
      else unlinkSync(path);
      return "removed";
    } catch (error) {
      const code = systemCode(error);
      if (code === "ENOENT") return "absent";
      if (code === "ENOTEMPTY" || code === "EEXIST") return "full";
      if (code !== (directory ? "ENOTDIR" : "EISDIR")) throw error;
      directory = !directory;
    }
  }
  return "full";
}

/** Opens a directory and makes sure that its owner may empty it. */
function enter(parentFd: number, name: ByteName): number | undefined {
  let fd: number;
  try {
    fd = openEntryDirectory(entryPath(parentFd, name));
  } catch (error) {
    if (systemCode(error) === "ENOENT" || systemCode(error) === "ENOTDIR") return undefined;
    throw error;
  }
  try {
    // Through the descriptor: a chmod of the name would follow a link.
    if ((fstatSync(fd).mode & 0o700) !== 0o700) chmodSync(`/proc/self/fd/${fd}`, 0o700);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

function moveUp(fd: number, name: ByteName, topFd: number): ByteName | undefined {
  const moved = `.skerry-${randomBytes(9).toString("hex")}.gone`;
  for (let attempt = 0; ; attempt++) {
    try {
      renameSync(entryPath(fd, name), entryPath(topFd, moved));
      return moved;
    } catch (error) {
      const code = systemCode(error);
      if (code === "ENOENT") return undefined;
      // A directory changes its parent only when it may be written itself.
      if (code !== "EACCES" || attempt > 0) throw error;
      const child = enter(fd, name);
      if (child === undefined) return undefined;
      closeSync(child);
    }
  }
}

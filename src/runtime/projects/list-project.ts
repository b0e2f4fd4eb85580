import { accessSync, closeSync, constants, lstatSync, readlinkSync, type Stats } from "node:fs";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { bytes as sizeText } from "../../kit/format-quantity.js";
import {
  byteNameOf,
  entryPath,
  isReserved,
  openDirectory,
  openEntries,
  openRegularFile,
  parseInnerPath,
  readBounded,
  staysInside,
  TREE_MAX_DEPTH,
  textOf,
} from "../workspace/index.js";
import { IgnoreRules } from "./gitignore.js";
import { holdsToken, type LeftOut, type LeftOutReason, mayHoldToken, reasonOfName } from "./left-out.js";
import type { SourceDirectory } from "./source-directory.js";

/** A file or link of a project on this host. */
export type ListedEntry =
  | { readonly path: string; readonly type: "file"; readonly mode: number; readonly size: number }
  | { readonly path: string; readonly type: "symlink"; readonly target: string };

export interface ProjectLimits {
  /** All files together. */
  readonly maxBytes: number;
  readonly maxFiles: number;
}

/** What of a directory goes into a sandbox. */
export interface ProjectListing {
  readonly entries: readonly ListedEntry[];
  /** Parents before what is in them. */
  readonly directories: readonly string[];
  readonly leftOut: readonly LeftOut[];
  readonly bytes: number;
}

const MAX_RULES_BYTES = 1024 * 1024;

/** Looks through a directory as git would: no link is followed, and what must not or need not go in is left out. */
export function listProject(source: SourceDirectory, limits: ProjectLimits): ProjectListing {
  return new Listing(source, limits).run();
}

class Listing {
  readonly #rules = new IgnoreRules();
  readonly #entries: ListedEntry[] = [];
  readonly #directories: string[] = [];
  readonly #leftOut: LeftOut[] = [];
  readonly #pending: string[] = [""];
  #bytes = 0;
  #seen = 0;

  constructor(
    private readonly source: SourceDirectory,
    private readonly limits: ProjectLimits,
  ) {
    for (const { prefix, text } of source.ignoredAbove()) this.#rules.addAbove(prefix, text);
  }

  run(): ProjectListing {
    for (let at = this.#pending.pop(); at !== undefined; at = this.#pending.pop()) this.#enter(at);
    const byPath = (a: { readonly path: string }, b: { readonly path: string }) => (a.path < b.path ? -1 : 1);
    return {
      entries: this.#entries.sort(byPath),
      directories: this.#directories.sort(),
      leftOut: this.#leftOut.sort(byPath),
      bytes: this.#bytes,
    };
  }

  #enter(directory: string): void {
    const { fd: root } = this.source;
    const fd = openDirectory(root, directory === "" ? [] : directory.split("/"));
    try {
      this.#readRules(directory);
      const entries = openEntries(fd);
      if (entries === undefined) return this.#leave(directory, "unreadable");
      try {
        for (let entry = entries.readSync(); entry !== null; entry = entries.readSync())
          this.#take(fd, directory, entry.name);
      } finally {
        entries.closeSync();
      }
    } finally {
      if (fd !== root) closeSync(fd);
    }
  }

  #readRules(directory: string): void {
    const path = directory === "" ? ".gitignore" : `${directory}/.gitignore`;
    try {
      const text = readBounded(openRegularFile(this.source.fd, parseInnerPath(path)), MAX_RULES_BYTES, path);
      this.#rules.add(directory, text.toString("utf8"));
    } catch (error) {
      // One that is missing, no file, or closed to us says nothing, as for git.
      if (!(error instanceof SandboxError) || error.code === "FILE_TOO_LARGE") throw error;
    }
  }

  #take(fd: number, directory: string, name: string): void {
    const text = textOf(name);
    const path = directory === "" ? text : `${directory}/${text}`;
    const handle = entryPath(fd, name);
    const stat = statOf(handle);
    if (stat === "closed") return this.#leave(path, "unreadable");
    if (stat === undefined) return;
    const why = this.#reasonOf(path, stat, byteNameOf(text) === name, handle);
    if (why !== undefined) return this.#leave(path, why);
    this.#count(path, stat);
    if (stat.isDirectory()) {
      this.#directories.push(path);
      this.#pending.push(path);
    } else if (stat.isSymbolicLink()) {
      const target = textOf(readlinkSync(handle, "buffer").toString("latin1"));
      if (staysInside(path.split("/").length - 1, target))
        this.#entries.push({ path, type: "symlink", target });
      else this.#leave(path, "link");
    } else {
      this.#entries.push({ path, type: "file", mode: stat.mode & 0o777, size: stat.size });
    }
  }

  #reasonOf(path: string, stat: Stats, isText: boolean, handle: string | Buffer): LeftOutReason | undefined {
    const byName = reasonOfName(path);
    if (byName !== undefined) return byName;
    const isDirectory = stat.isDirectory();
    if (!isText || isReserved(path)) return "special";
    if (this.#rules.ignoresEntry(path, isDirectory)) return "ignored";
    if (!isDirectory && !stat.isFile() && !stat.isSymbolicLink()) return "special";
    if (isDirectory && this.source.isExcluded(stat)) return "ignored";
    if (isDirectory && path.split("/").length >= TREE_MAX_DEPTH) return "deep";
    if (stat.isFile() && !isReadable(handle)) return "unreadable";
    if (stat.isFile() && mayHoldToken(path) && holdsToken(this.#textOf(path))) return "secret";
    return undefined;
  }

  #textOf(path: string): string {
    return readBounded(openRegularFile(this.source.fd, parseInnerPath(path)), MAX_RULES_BYTES, path).toString(
      "utf8",
    );
  }

  #count(path: string, stat: Stats): void {
    const { maxBytes, maxFiles } = this.limits;
    if (stat.isFile()) this.#bytes += stat.size;
    if (++this.#seen > maxFiles) throw tooMuch(`more than ${maxFiles} files`, path);
    if (this.#bytes > maxBytes) throw tooMuch(`more than ${sizeText(maxBytes)}`, path);
  }

  #leave(path: string, why: LeftOutReason): void {
    this.#leftOut.push({ path, why });
  }
}

/** Closed: a directory that can be read but not searched shows names only. */
function statOf(handle: string | Buffer): Stats | "closed" | undefined {
  try {
    return lstatSync(handle, { throwIfNoEntry: false });
  } catch (error) {
    if (systemCode(error) === "EACCES") return "closed";
    throw error;
  }
}

function isReadable(handle: string | Buffer): boolean {
  try {
    accessSync(handle, constants.R_OK);
    return true;
  } catch {
    return false;
  }
}

/** The directory has more than goes in. */
export function tooMuch(what: string, path: string): SandboxError {
  const [top = path] = path.split("/");
  return new SandboxError(
    "FILE_TOO_LARGE",
    `The directory has ${what}; the count ended in ${JSON.stringify(top)}`,
    {
      hint: "Name a smaller directory, add what is not needed to .gitignore, or raise sandbox.projects.maxFiles and maxBytes.",
    },
  );
}

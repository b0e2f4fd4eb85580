import { closeSync, fstatSync, lstatSync, readFileSync, realpathSync, type Stats, statSync } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, join, resolve, sep } from "node:path";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { escapeFileName } from "../../kit/escape-unsafe.js";
import { expandHome } from "../../kit/expand-home.js";
import { unlessMissing } from "../../kit/if-missing.js";
import { type Owner, openHostDirectory } from "../workspace/index.js";
import { isGitDirectory } from "./git-directory.js";
import { isInGit, isSecretDirectory } from "./left-out.js";

/** No project is in these, and some never end. */
const SYSTEM = ["/proc", "/sys", "/dev", "/run"];
const MAX_ABOVE = 64;
const MAX_RULES_BYTES = 1024 * 1024;

/** An open directory of this host whose files go into a sandbox, or come back from one. */
export class SourceDirectory {
  private constructor(
    readonly path: string,
    readonly fd: number,
    private readonly stateDir: Stats | undefined,
  ) {}

  /** Opens it by a path of the caller's, which may go through links; refuses what is no project. */
  static open(given: string, { stateDir }: { readonly stateDir: string }): SourceDirectory {
    if (typeof given !== "string" || given === "" || given.includes("\0"))
      throw refused("A directory is named by its path", "For example .");
    const path = unlessAbsent(given, () => realpathSync(resolve(expandHome(given))));
    return SourceDirectory.#openReal(path, given, stateDir);
  }

  /** Opens it again by the path that it had then. */
  static reopen(path: string, { stateDir }: { readonly stateDir: string }): SourceDirectory {
    const now = unlessAbsent(path, () => realpathSync(path));
    if (now !== path) {
      throw new SandboxError("CONFLICT", `${escapeFileName(path)} is a symbolic link now, or below one`, {
        hint: "Put the directory back where it was when it was copied in.",
      });
    }
    return SourceDirectory.#openReal(path, path, stateDir);
  }

  static #openReal(path: string, given: string, stateDir: string): SourceDirectory {
    const found = unlessAbsent(given, () => statSync(path));
    if (!found.isDirectory()) {
      throw new SandboxError("FILE_TYPE", `${escapeFileName(given)} is not a directory`, {
        hint: "Name a directory; a single file goes in as a file.",
      });
    }
    const state = unlessMissing(undefined, () => realpathSync(stateDir));
    refuseNoProject(path, state);
    try {
      return new SourceDirectory(
        path,
        openHostDirectory(path),
        state === undefined ? undefined : statSync(state),
      );
    } catch (cause) {
      throw new SandboxError("FILE_DENIED", `${escapeFileName(given)} cannot be opened`, { cause });
    }
  }

  /** Whose new files here are: the directory's owner, where we are root. */
  get owner(): Owner | undefined {
    if (process.geteuid?.() !== 0) return undefined;
    const { uid, gid } = fstatSync(this.fd);
    return { uid, gid };
  }

  /** True for Skerry's own directory, where other sessions' files are. */
  isExcluded({ dev, ino }: Stats): boolean {
    return this.stateDir !== undefined && this.stateDir.dev === dev && this.stateDir.ino === ino;
  }

  /** The `.gitignore` files above, up to the top of the repository, the nearest last, and the repository's own excludes. */
  *ignoredAbove(): Generator<{ readonly prefix: string; readonly text: string }> {
    const found: { prefix: string; text: string }[] = [];
    let prefix = "";
    let at = this.path;
    for (let level = 0; level < MAX_ABOVE; level++) {
      if (prefix !== "") found.unshift({ prefix, text: smallText(join(at, ".gitignore")) });
      const excludes = excludesOf(at);
      if (excludes !== undefined) return yield* [{ prefix, text: excludes }, ...found];
      if (dirname(at) === at) return;
      prefix = prefix === "" ? basename(at) : `${basename(at)}/${prefix}`;
      at = dirname(at);
    }
  }

  [Symbol.dispose](): void {
    closeSync(this.fd);
  }
}

/** True for the whole machine, a home or a directory that anybody may write into: nothing of it is copied without being asked for. */
export function isWideDirectory(path: string): boolean {
  const real = realpathSync(path);
  return real === "/" || real === realHome() || (statSync(real).mode & 0o002) !== 0;
}

function refuseNoProject(path: string, state: string | undefined): void {
  if (isInGit(path) || directoriesUpTo(path).some(isRepository))
    throw refused("These are git's own files, and no project", "Name the directory that git keeps them for.");
  if (path === "/" || SYSTEM.some((each) => isWithin(path, each)))
    throw refused(`${path} is the system's, and no project`, "Name the directory of the project.");
  if (path.split(sep).some(isSecretDirectory))
    throw refused("This directory is for secrets", "Name the directory of the project.");
  if (path === realHome()) throw refused("This is the whole home directory", "Name a directory in it.");
  if (state !== undefined && isWithin(path, state))
    throw refused(
      "This is Skerry's own directory, with the files of sessions",
      "Name the directory of the project.",
    );
}

/** The directory and those above it. */
function directoriesUpTo(path: string): string[] {
  return dirname(path) === path ? [path] : [path, ...directoriesUpTo(dirname(path))];
}

function isRepository(directory: string): boolean {
  return isGitDirectory((name) => lstatSync(join(directory, name), { throwIfNoEntry: false }) !== undefined);
}

/** What the repository whose top this is leaves out besides `.gitignore`; undefined: it is the top of none. */
function excludesOf(top: string): string | undefined {
  const git = join(top, ".git");
  const stat = lstatSync(git, { throwIfNoEntry: false });
  if (stat === undefined) return undefined;
  if (!stat.isFile()) return smallText(join(git, "info/exclude"));
  // Of a worktree or a submodule: a file that says where the rest is.
  const told = /^gitdir: ([^\0\n]+)/.exec(smallText(git))?.[1];
  if (told === undefined) return "";
  const own = resolve(top, told.trimEnd());
  const common = /^[^\0\n]+/.exec(smallText(join(own, "commondir")))?.[0];
  return smallText(join(common === undefined ? own : resolve(own, common.trimEnd()), "info/exclude"));
}

function realHome(): string | undefined {
  return unlessMissing(undefined, () => realpathSync(homedir()));
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(directory + sep);
}

function smallText(path: string): string {
  try {
    const stat = lstatSync(path);
    return stat.isFile() && stat.size <= MAX_RULES_BYTES ? readFileSync(path, "utf8") : "";
  } catch {
    return "";
  }
}

function unlessAbsent<Value>(given: string, action: () => Value): Value {
  try {
    return action();
  } catch (cause) {
    const code = systemCode(cause) === "EACCES" ? "FILE_DENIED" : "FILE_NOT_FOUND";
    throw new SandboxError(code, `${escapeFileName(given)}: there is no such directory, or no way to it`, {
      cause,
    });
  }
}

function refused(message: string, hint: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", message, { hint });
}

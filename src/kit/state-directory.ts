import { chmodSync, existsSync, lstatSync, mkdirSync, type Stats, statSync } from "node:fs";
import { dirname, isAbsolute, normalize } from "node:path";
import { SandboxError, systemCode } from "./errors.js";
import { expandHome } from "./expand-home.js";

/**
 * Where sandboxes' files are kept when nothing else is said. Programs inside can read the path from their mount
 * table, so it names no person: not the home directory.
 */
function defaultStateDirectory(env: NodeJS.ProcessEnv = process.env): string {
  if (env["SKERRY_STATE_DIR"]) return env["SKERRY_STATE_DIR"];
  const uid = process.getuid?.() ?? 0;
  return uid === 0 ? "/var/lib/skerry" : `/var/tmp/skerry-${uid}`;
}

/** The state directory that a configuration names, or the default. */
export function stateDirectoryOf({ stateDir }: { readonly stateDir?: string | undefined }): string {
  if (stateDir !== undefined && typeof stateDir !== "string")
    throw new SandboxError("INVALID_ARGUMENT", "The state directory is a path, as text", {
      hint: 'For example "/var/lib/skerry".',
    });
  return expandHome(stateDir ?? defaultStateDirectory());
}

/** Makes the directory, or checks that only this user can change the one that exists. */
export function ensureStateDirectory(path: string): void {
  checkStatePath(path);
  // Whatever the umask says: root's sandboxes must be able to pass through.
  if (makeDirectories(path)) chmodSync(path, 0o711);
  checkStateDirectory(path);
  if (process.getuid?.() === 0) checkParentsAreOpen(path);
}

/** Refuses a relative path, which would mean another directory for every working directory, and the root. */
export function checkStatePath(path: string): void {
  if (isAbsolute(path) && normalize(path) !== "/") return;
  throw new SandboxError(
    "CONFIG_INVALID",
    "The state directory must be an absolute path, and not the root itself",
    {
      hint: "It comes from SKERRY_STATE_DIR, sandbox.stateDir or the stateDir option.",
    },
  );
}

/** Makes the missing directories of a path one by one: Node's own recursion never ends on some paths. True: it made the last. */
function makeDirectories(path: string): boolean {
  if (existsSync(path)) return false;
  try {
    if (path !== dirname(path)) makeDirectories(dirname(path));
    mkdirSync(path);
    return true;
  } catch (error) {
    if (error instanceof SandboxError) throw error;
    if (systemCode(error) === "EEXIST") return false;
    throw new SandboxError("CONFIG_INVALID", `The state directory cannot be made (${systemCode(error)})`, {
      hint: "Set SKERRY_STATE_DIR or sandbox.stateDir to a place where this user may make a directory.",
      cause: error,
    });
  }
}

/** Refuses anything but a directory that only this user can change. False: nothing is there. */
export function checkStateDirectory(path: string): boolean {
  const stat = lookAt(path);
  if (stat === undefined) return false;
  if (stat.isDirectory() && stat.uid !== process.getuid?.())
    throw new SandboxError(
      "CONFIG_INVALID",
      `The state directory belongs to another user (uid ${stat.uid})`,
      {
        hint: "Set SKERRY_STATE_DIR or sandbox.stateDir to a directory of your own, or start Skerry as that user.",
      },
    );
  if (!stat.isDirectory() || (stat.mode & 0o022) !== 0) {
    throw new SandboxError(
      "CONFIG_INVALID",
      "The state directory is not a directory that only this user can change",
      {
        hint: "Set SKERRY_STATE_DIR or sandbox.stateDir to a directory you own, with mode 0711 or 0700.",
      },
    );
  }
  return true;
}

function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (error) {
    throw new SandboxError(
      "CONFIG_INVALID",
      `The state directory cannot be looked at (${systemCode(error)}): a directory above it is closed to this user`,
      { hint: "Set SKERRY_STATE_DIR or sandbox.stateDir to a place that this user may reach.", cause: error },
    );
  }
}

/** Root's sandboxes run as users of their own, who must be able to pass through to their files. */
function checkParentsAreOpen(path: string): void {
  for (let parent = path; parent !== "/"; parent = dirname(parent)) {
    if ((statSync(parent).mode & 0o001) !== 0) continue;
    throw new SandboxError(
      "CONFIG_INVALID",
      "Sandboxes cannot reach the state directory: a directory above it is closed to others",
      {
        hint: "Choose a state directory whose parents all have mode 0711 or 0755, such as /var/lib/skerry.",
      },
    );
  }
}

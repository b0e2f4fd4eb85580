import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { SandboxError, systemCode } from "../../../kit/errors.js";
import { unlessMissing } from "../../../kit/if-missing.js";
import { processLabel } from "../../../kit/process-label.js";
import { type Owner, sessionDirectoryName, validateSessionKey } from "../../../runtime/workspace/index.js";

/** A session's place on disk. */
export interface StoredSession {
  readonly key: string;
  readonly path: string;
  readonly owner: Owner | undefined;
  /** False: its workspace has not been filled yet. */
  readonly ready: boolean;
  /** Removed with its sandbox. */
  readonly ephemeral: boolean;
}

/** What `session.json` holds. */
export interface SessionMeta {
  readonly key: string;
  readonly createdAt: string;
  readonly ready: boolean;
  readonly uid?: number;
}

/** A directory that is made, with the user that it was made for. */
export interface MadeDirectory {
  readonly path: string;
  readonly owner: Owner | undefined;
}

const META_FILE = "session.json";
export const TEMPORARY = ".temporary-";

/** Undefined: there is no session in that directory. */
export function readMeta(path: string): (SessionMeta & { readonly usedAt: Date }) | undefined {
  const file = join(path, META_FILE);
  try {
    const meta = JSON.parse(readFileSync(file, "utf8")) as SessionMeta;
    return { ...meta, usedAt: statSync(file).mtime };
  } catch (error) {
    if (systemCode(error) === "ENOENT") return undefined;
    throw new SandboxError("INTERNAL", "A session's record cannot be read", { cause: error });
  }
}

/** Whole or not at all: another process may be reading it. */
export function writeMeta({ path, owner }: MadeDirectory, meta: Omit<SessionMeta, "uid">): void {
  const file = join(path, META_FILE);
  const unfinished = `${file}.${randomBytes(6).toString("hex")}`;
  const content: SessionMeta = { ...meta, ...(owner !== undefined && { uid: owner.uid }) };
  writeFileSync(unfinished, JSON.stringify(content), { mode: 0o600 });
  renameSync(unfinished, file);
}

/** Notes that the session is used now. */
export function touchMeta(path: string): void {
  const now = new Date();
  utimesSync(join(path, META_FILE), now, now);
}

/** An empty workspace of that user. */
export function makeDirectory(path: string, owner: Owner | undefined): void {
  try {
    const workspace = join(path, "workspace");
    mkdirSync(workspace, { recursive: true });
    // The sandbox's user must be able to pass through, whatever our umask is.
    chmodSync(path, 0o711);
    chmodSync(workspace, 0o700);
    if (owner !== undefined) chownSync(workspace, owner.uid, owner.gid);
  } catch (error) {
    rmSync(path, { recursive: true, force: true });
    throw whenFull(error);
  }
}

/** True when the sandbox had its workspace mounted over the directory, and left nothing beside it. */
export function isPristine(path: string): boolean {
  return readdirSync(path).join() === "workspace" && readdirSync(join(path, "workspace")).length === 0;
}

/** The usual case after a mounted workspace: nothing is left but the directory. */
export function removeEmpty(path: string): boolean {
  try {
    rmdirSync(path);
    return true;
  } catch {
    return false;
  }
}

/** Every user may pass through the folder, and see nothing of it. */
export function ensurePassable(path: string): void {
  if (mkdirSync(path, { recursive: true }) !== undefined) chmodSync(path, 0o711);
}

/** The session of mode shared; no caller can name it, since names have no slash. */
export const SHARED_KEY = "/shared";

/** What a session is called where people see it. */
export function sessionIdOf(key: string): string {
  return key === SHARED_KEY ? "shared" : key;
}

/** What the directory of a session is called. */
export function directoryName(key: string): string {
  return key === SHARED_KEY ? "shared" : sessionDirectoryName(validateSessionKey(key));
}

/** What the directory of a session that goes with this process is called. */
export function temporaryName(): string {
  return `${TEMPORARY}${processLabel(randomBytes(6).toString("hex"))}`;
}

/** The user that the session's files belong to. */
export function ownerOf(meta: SessionMeta): Owner | undefined {
  return meta.uid === undefined ? undefined : { uid: meta.uid, gid: meta.uid };
}

/** What is thrown when a session cannot be made. */
export function whenFull(error: unknown): unknown {
  if (systemCode(error) !== "ENOSPC") return error;
  return new SandboxError("DISK_FULL", "There is no room for a new session in the state directory", {
    hint: "Free some space, delete sessions, or point SKERRY_STATE_DIR at another disk.",
    cause: error,
  });
}

/** False where the directory has another owner: the process that took this id was killed before it used it. */
export function isOwnedBy(path: string, uid: number): boolean {
  try {
    return statSync(join(path, "workspace")).uid === uid;
  } catch {
    return existsSync(path);
  }
}

/** The error for a directory that should be a session's and has no record. */
export function withoutRecord(name: string, cause: unknown): SandboxError {
  return new SandboxError("SANDBOX_START_FAILED", "The session's directory is there, but its record is not", {
    hint: `${META_FILE} was removed from sessions/${name} in the state directory. Move that directory away, with the files that may be in it, or remove it.`,
    cause,
  });
}

/** Whether a rename failed because something is at the new name. */
export function isTaken(error: unknown): boolean {
  return ["ENOTEMPTY", "EEXIST"].includes(systemCode(error) ?? "");
}

/** The names in a directory; none where it is missing. */
export function readDirectory(path: string): string[] {
  return unlessMissing([], () => readdirSync(path));
}

import { SandboxError } from "../../../kit/errors.js";
import { escapeFileName } from "../../../kit/escape-unsafe.js";

/** A workspace as it was at one moment, kept with its session. */
export interface SnapshotInfo {
  readonly id: string;
  readonly name?: string;
  readonly sessionId: string;
  readonly createdAt: Date;
  /** How many regular files are in it. */
  readonly files: number;
  /** Of all of them. */
  readonly bytes: number;
  /** How many of those were new on disk: what the session's other snapshots have is stored once. */
  readonly storedBytes: number;
  /** How much was left out: sockets, FIFOs, devices, and names and targets that are not UTF-8 or too long. */
  readonly skipped: number;
}

/** One thing of a snapshot. Paths are a program's own words, relative to the workspace. */
export type SnapshotEntry =
  | { readonly path: string; readonly type: "directory"; readonly mode: number }
  | ({
      readonly path: string;
      readonly type: "file";
      readonly mode: number;
      readonly mtimeMs: number;
    } & Content)
  | { readonly path: string; readonly type: "symlink"; readonly target: string };

/** What a file holds, by its hash. */
export interface Content {
  readonly sha256: string;
  readonly size: number;
}

/** What a session's snapshots may take. */
export interface SnapshotLimits {
  /** Of the files of one snapshot together. */
  readonly maxBytes: number;
  /** Files, directories and links of one snapshot. */
  readonly maxFiles: number;
  /** On disk, of all snapshots of a session together. */
  readonly maxStoredBytes: number;
}

const ID = /^snap-[0-9a-f]{16}$/;
const MAX_NAME_CHARACTERS = 200;

/** True for what can be the name of a snapshot's files; whatever else a caller gives is none that exists. */
export function isSnapshotId(id: string): boolean {
  return ID.test(id);
}

/** Takes an id, or what `snapshot()` resolved to. */
export function snapshotIdOf(snapshot: unknown): string {
  const id = typeof snapshot === "object" && snapshot !== null && "id" in snapshot ? snapshot.id : snapshot;
  if (typeof id === "string") return id;
  throw new SandboxError("INVALID_ARGUMENT", `Expected the id of a snapshot, got ${typeof id}`, {
    hint: "The list of the session's snapshots has them.",
  });
}

/** What a caller may call a snapshot. */
export function checkSnapshotName(name: unknown): string | undefined {
  if (name === undefined) return undefined;
  const isShort = typeof name === "string" && name !== "" && name.length <= MAX_NAME_CHARACTERS;
  if (isShort && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) return name;
  throw new SandboxError(
    "INVALID_ARGUMENT",
    `A snapshot's name has 1 to ${MAX_NAME_CHARACTERS} characters, and none that acts on a terminal`,
    { hint: 'Leave it out, or give a short text such as "before the update".' },
  );
}

/** There is none of that id in this session. */
export function snapshotNotFound(id: string): SandboxError {
  return new SandboxError("SNAPSHOT_NOT_FOUND", `This session has no snapshot "${escapeFileName(id)}"`, {
    hint: "It may have been deleted, or be another session's. The list of its snapshots has those that are there.",
  });
}

/** What was kept is not what is there. */
export function snapshotDamaged(id: string, cause?: unknown): SandboxError {
  return new SandboxError("FILE_FAILED", `The snapshot ${id} is damaged`, {
    hint: "The state directory was changed, or the machine stopped while it was written. Delete the snapshot.",
    cause,
  });
}

/** Throws CANCELLED when the caller has left. */
export function assertWanted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new SandboxError("CANCELLED", "The work on the snapshot was cancelled");
}

/** More than a snapshot may have. */
export function tooMany(maxFiles: number): SandboxError {
  return new SandboxError(
    "FILE_TOO_LARGE",
    `A snapshot has at most ${maxFiles} files, directories and links`,
    {
      hint: "Remove files from the workspace, or raise sandbox.snapshots.maxFiles.",
    },
  );
}

/** The same, in bytes. */
export function tooMuch(maxBytes: number): SandboxError {
  return new SandboxError(
    "FILE_TOO_LARGE",
    `The files of a snapshot have at most ${maxBytes} bytes together`,
    {
      hint: "Remove files from the workspace, or raise sandbox.snapshots.maxBytes.",
    },
  );
}

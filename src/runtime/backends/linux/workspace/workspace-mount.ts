import { chmodSync, readdirSync, rmSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import { SandboxError, systemCode } from "../../../../kit/errors.js";
import type { CreateSpec } from "../../backend.js";
import { createWorkspaceImage, DEFAULT_SIZE, type ImageTools, isSmaller } from "./workspace-image.js";

/** How a workspace is kept within its limits. */
export type WorkspaceMount =
  /** A file system in a file: stays with the session. */
  | { readonly kind: "image"; readonly path: string }
  /** Goes with the sandbox, and counts as its memory. */
  | { readonly kind: "memory"; readonly bytes: number; readonly inodes: number };

/** Where a session's files are, or where its workspace is mounted. */
export function workspacePath(spec: CreateSpec): string {
  return join(spec.directory.path, "workspace");
}

/**
 * Decides what to mount as the workspace; undefined: the directory as it is, without limits. A session keeps what
 * it was made with. A sandbox that is thrown away gets half of its memory, unless a size was asked for.
 */
export async function prepareWorkspace(
  spec: CreateSpec,
  tools: ImageTools | undefined,
): Promise<WorkspaceMount | undefined> {
  const image = join(spec.directory.path, "workspace.img");
  const { limits, requestedLimits } = spec;
  const existing = statSync(image, { throwIfNoEntry: false });
  if (!spec.ephemeral) checkRoom(spec.directory.path);
  if (existing !== undefined) {
    if (tools === undefined) throw cannotMount();
    if (isSmaller(requestedLimits, existing.size)) throw fixedSize("more room");
    return { kind: "image", path: image };
  }
  if (limits.workspaceMb === undefined && limits.workspaceInodes === undefined) {
    // A program of an earlier sandbox may have closed it to everybody, itself included.
    chmodSync(workspacePath(spec), 0o700);
    return undefined;
  }
  if (tools === undefined) throw cannotMount();
  const asked = requestedLimits.workspaceMb !== undefined || requestedLimits.workspaceInodes !== undefined;
  const sizeMb = limits.workspaceMb ?? DEFAULT_SIZE.sizeMb;
  const inodes = limits.workspaceInodes ?? DEFAULT_SIZE.inodes;
  if (spec.ephemeral && !asked && limits.memoryMb !== undefined) {
    const bytes = Math.floor((Math.min(sizeMb, limits.memoryMb / 2) * 1024 * 1024) / 4096) * 4096;
    return { kind: "memory", bytes, inodes };
  }
  if (!spec.ephemeral && readdirSync(workspacePath(spec)).length > 0) {
    if (!asked) return undefined;
    throw fixedSize("no limit");
  }
  try {
    await createWorkspaceImage(image, { sizeMb, inodes }, tools);
  } catch (error) {
    // Another process made it for the same session at the same time: then it is there.
    if (systemCode(error) !== "EEXIST") throw error;
  }
  return { kind: "image", path: image };
}

/** Where this host reaches the files of a sandbox whose outermost process is this one. */
export function hostWorkspaceOf(
  spec: CreateSpec,
  mount: WorkspaceMount | undefined,
  pid: number | undefined,
): string {
  if (pid === undefined)
    throw new SandboxError("SANDBOX_LOST", "The sandbox ended as soon as it had started");
  if (mount === undefined) return workspacePath(spec);
  dropImageName(spec, mount);
  // A mount is in the sandbox's own view only.
  return `/proc/${pid}/root${workspacePath(spec)}`;
}

/** The mount keeps the image; under no name, it cannot be left behind. */
export function dropImageName(spec: CreateSpec, mount: WorkspaceMount): void {
  if (mount.kind === "image" && spec.ephemeral) rmSync(mount.path, { force: true });
}

/** An image is sparse: on a full disk, what programs write into it would be lost after they were told it was not. */
function checkRoom(path: string): void {
  const { bavail, bsize } = statfsSync(path);
  if (bavail * bsize >= LEAST_ROOM_BYTES) return;
  throw new SandboxError("DISK_FULL", "The disk of the state directory is nearly full", {
    hint: "Free some space, delete sessions, or point SKERRY_STATE_DIR at another disk.",
  });
}

const LEAST_ROOM_BYTES = 64 * 1024 * 1024;

function cannotMount(): SandboxError {
  return new SandboxError("LIMIT_UNENFORCEABLE", "This host cannot limit the size of a workspace", {
    hint: "It takes root, loop devices and e2fsprogs. Leave limits.workspace out, or see skerry doctor.",
  });
}

function fixedSize(has: string): SandboxError {
  return new SandboxError("LIMIT_UNENFORCEABLE", `This session's workspace was made with ${has}`, {
    hint: "The size is fixed when a session is made: delete the session, or use another one.",
  });
}

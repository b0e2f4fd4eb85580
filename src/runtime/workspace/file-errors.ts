import { type ErrorCode, SandboxError, type SandboxErrorInit, systemCode } from "../../kit/errors.js";
import { escapeFileName } from "../../kit/escape-unsafe.js";

interface Meaning {
  readonly code: ErrorCode;
  readonly text: string;
  readonly hint: string;
}

const OUT_OF_SPACE: Meaning = {
  code: "DISK_FULL",
  text: "could not be written: no space left",
  hint: "Remove files from the workspace, or raise its size limit.",
};
const NOT_REGULAR: Meaning = {
  code: "FILE_TYPE",
  text: "is not a regular file",
  hint: "Only regular files can be read and written.",
};
const NO_PERMISSION: Meaning = {
  code: "FILE_DENIED",
  text: "may not be accessed: permission denied",
  hint: "Change its mode from inside the sandbox, or use another path.",
};

const MEANINGS: Readonly<Record<string, Meaning>> = {
  ENOENT: {
    code: "FILE_NOT_FOUND",
    text: "does not exist",
    hint: "List the directory to see what is there.",
  },
  EEXIST: {
    code: "FILE_EXISTS",
    text: "already exists",
    hint: "Choose another name, or write without asking for a new file.",
  },
  ENOTEMPTY: {
    code: "FILE_EXISTS",
    text: "is a directory that is not empty",
    hint: "Remove it with `recursive: true`.",
  },
  EISDIR: { code: "FILE_TYPE", text: "is a directory", hint: "Name a file, or remove the directory first." },
  ENOTDIR: {
    code: "FILE_TYPE",
    text: "has a part that is not a directory",
    hint: "List the directories above it to see which.",
  },
  ENXIO: NOT_REGULAR,
  ENODEV: NOT_REGULAR,
  EACCES: NO_PERMISSION,
  EPERM: NO_PERMISSION,
  EROFS: { code: "FILE_DENIED", text: "is on a read-only file system", hint: "Write to another path." },
  ENAMETOOLONG: { code: "INVALID_ARGUMENT", text: "has a name that is too long", hint: "Use shorter names." },
  EFBIG: {
    code: "FILE_TOO_LARGE",
    text: "would be too large",
    hint: "Write less, or raise the file size limit.",
  },
  ENOSPC: OUT_OF_SPACE,
  EDQUOT: OUT_OF_SPACE,
};

/** Says what a failed system call on a workspace path means, without the host's path. */
export function fileError(error: unknown, path: string): SandboxError {
  if (error instanceof SandboxError) return error;
  const code = systemCode(error);
  if (code === "ELOOP") return linkError(path, error);
  const meaning = code === undefined ? undefined : MEANINGS[code];
  if (meaning === undefined) {
    return new SandboxError("FILE_FAILED", `${quoted(path)} failed: ${code ?? "unknown error"}`, {
      hint: "Try again; if it stays, look at the host's file system.",
      cause: error,
    });
  }
  return new SandboxError(meaning.code, `${quoted(path)} ${meaning.text}`, {
    hint: meaning.hint,
    cause: error,
  });
}

/** A symbolic link stands where a file or directory was asked for. */
export function linkError(path: string, cause?: unknown): PathTraversalError {
  return new PathTraversalError(`${quoted(path)} is a symbolic link, and links are not followed`, {
    hint: "Name the file that the link points to, if it is inside the workspace.",
    cause,
  });
}

/** Something else than a regular file stands there. */
export function typeError(path: string, found: string): SandboxError {
  return new SandboxError("FILE_TYPE", `Expected a regular file, but ${quoted(path)} is ${found}`, {
    hint: NOT_REGULAR.hint,
  });
}

/** Something else than a directory stands there. */
export function directoryTypeError(path: string, cause?: unknown): SandboxError {
  return new SandboxError("FILE_TYPE", `Expected a directory, but ${quoted(path)} is not one`, {
    hint: "List the directory above it to see what is there.",
    cause,
  });
}

/** More bytes than the cap allows. */
export function tooLarge(path: string, maxBytes: number): SandboxError {
  return new SandboxError("FILE_TOO_LARGE", `${quoted(path)} is larger than ${maxBytes} bytes`, {
    hint: "Read it in parts inside the sandbox, or raise the limit.",
  });
}

/** A path for a message: the workspace itself has no name. */
export function quoted(path: string): string {
  return path === "" ? "The workspace" : `"${escapeFileName(path)}"`;
}

/** A path that leaves the workspace, or that would have to follow a link to be opened. */
export class PathTraversalError extends SandboxError {
  declare readonly code: "PATH_TRAVERSAL";

  constructor(message: string, init: SandboxErrorInit = {}) {
    super("PATH_TRAVERSAL", message, init);
    this.name = "PathTraversalError";
  }
}

import { SandboxError, systemCode } from "../../../kit/errors.js";
import type { RelativePath } from "../../workspace/index.js";
import { directoryTypeError, fileError, linkError, quoted } from "../../workspace/index.js";
import type { InsideEnd } from "./run-inside.js";
import { Exit } from "./scripts.js";

/** strerror in the C locale: glibc's words, and musl's where they differ. */
const ERRNO: ReadonlyMap<string, string> = new Map([
  ["No such file or directory", "ENOENT"],
  ["File exists", "EEXIST"],
  ["Directory not empty", "ENOTEMPTY"],
  ["Is a directory", "EISDIR"],
  ["Not a directory", "ENOTDIR"],
  ["Permission denied", "EACCES"],
  ["Operation not permitted", "EPERM"],
  ["Read-only file system", "EROFS"],
  ["File name too long", "ENAMETOOLONG"],
  ["Filename too long", "ENAMETOOLONG"],
  ["File too large", "EFBIG"],
  ["No space left on device", "ENOSPC"],
  ["Disk quota exceeded", "EDQUOT"],
  ["Quota exceeded", "EDQUOT"],
]);

/** What a script's end means for the path it was about. */
export function scriptFailure(end: InsideEnd, path: RelativePath): SandboxError {
  const at = Number(/\n(\d{1,3})\n$/.exec(end.stderr)?.[1] ?? path.components.length);
  const reached = path.components.slice(0, at).join("/");
  switch (end.exitCode) {
    case Exit.link:
      return linkError(reached);
    case Exit.missing:
      return fileError(systemError("ENOENT"), reached);
    case Exit.notDirectory:
      return directoryTypeError(reached);
    case Exit.denied:
      return fileError(systemError("EACCES"), reached);
    case Exit.exists:
      return fileError(systemError("EEXIST"), reached);
    case Exit.noWorkspace:
      return new SandboxError("FILE_FAILED", "The workspace cannot be entered inside the sandbox");
    case 126:
    case 127:
      return toolsMissing();
    default:
      return end.reason === "timeout"
        ? tooSlow(path.text)
        : fileError(systemError(errnoIn(end.stderr)), reached);
  }
}

/** The guest's own failure with a file, in the words of the workspace. */
export function transferFailure(error: unknown, path: string): unknown {
  if (!(error instanceof SandboxError) || systemCode(error.cause) === undefined) return error;
  return fileError(error.cause, path);
}

/** There is no shell inside, or none of the programs that it calls. */
export function toolsMissing(cause?: unknown): SandboxError {
  return new SandboxError(
    "UNSUPPORTED",
    "The sandbox has no sh, find, mkdir or rm, which its file calls take",
    {
      hint: "Use an image with a shell and the usual file commands (busybox will do).",
      cause,
    },
  );
}

/** The sandbox did not do in time what was asked. */
export function tooSlow(path: string): SandboxError {
  return new SandboxError("FILE_FAILED", `${quoted(path)} failed: the sandbox did not answer in time`, {
    hint: "Something inside may use up its processor or disk. Try again when it is done.",
  });
}

/** What came back is nothing that our own command prints. */
export function notAListing(): SandboxError {
  return new SandboxError("FILE_FAILED", "The sandbox did not answer with a listing of files", {
    hint: "A program inside may have replaced find or sh. Restart the session.",
  });
}

/** The names in a message come before its reason, so only the end of a line is looked at. */
function errnoIn(stderr: string): string | undefined {
  for (const line of stderr.split("\n").reverse()) {
    const errno = ERRNO.get(line.slice(line.lastIndexOf(": ") + 2).trim());
    if (errno !== undefined) return errno;
  }
  return undefined;
}

function systemError(code: string | undefined): Error {
  return Object.assign(new Error(code ?? "unknown"), code === undefined ? {} : { code });
}

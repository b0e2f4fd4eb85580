import { constants } from "node:os";
import { type ErrorCode, SandboxError } from "../../kit/errors.js";

const CODES: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [constants.errno.ENOENT, "COMMAND_NOT_FOUND"],
  [constants.errno.EACCES, "COMMAND_NOT_EXECUTABLE"],
  [constants.errno.ENOEXEC, "COMMAND_NOT_EXECUTABLE"],
  [constants.errno.ENOSPC, "DISK_FULL"],
  [constants.errno.EDQUOT, "DISK_FULL"],
]);

const FILE_CODES: ReadonlyMap<number, ErrorCode> = new Map<number, ErrorCode>([
  [constants.errno.ENOENT, "FILE_NOT_FOUND"],
  [constants.errno.ENOTDIR, "FILE_NOT_FOUND"],
  [constants.errno.EEXIST, "FILE_EXISTS"],
  [constants.errno.EISDIR, "FILE_TYPE"],
  [constants.errno.ENXIO, "FILE_TYPE"],
  [constants.errno.ELOOP, "FILE_DENIED"],
  [constants.errno.EACCES, "FILE_DENIED"],
  [constants.errno.EROFS, "FILE_DENIED"],
  [constants.errno.ENOSPC, "DISK_FULL"],
  [constants.errno.EDQUOT, "DISK_FULL"],
]);

const NAMES: ReadonlyMap<number, string> = new Map(
  Object.entries(constants.errno).map(([name, number]) => [number, name]),
);

/** What the guest could not do, in our words. */
export function guestFailure(errno: number, what: string, subject: string): SandboxError {
  const name = NAMES.get(errno) ?? `error ${errno}`;
  switch (what) {
    case "exec":
      return commandFailure(errno, name, subject);
    case "cwd":
      return new SandboxError("FILE_NOT_FOUND", `Cannot enter the working directory: ${name}`, {
        hint: "The working directory is a path inside the sandbox; /workspace is where the session's files are.",
      });
    case "connect":
      return new SandboxError("PORT_FAILED", `Cannot connect inside the sandbox: ${name}`, {
        hint: "Is a program inside listening on this port?",
      });
    case "listen":
    case "socket":
      return new SandboxError("EXECUTION_FAILED", `Cannot ${what} inside the sandbox: ${name}`, {
        hint: "Is a program inside listening on this port?",
      });
    case "too many channels":
    case "pipe":
      return new SandboxError("EXECUTION_FAILED", `The sandbox has too much going on at once: ${name}`, {
        hint: "Wait for running commands to end, or raise limits.openFiles.",
      });
    default:
      // The cause lets a caller that knows the path by another name say that name.
      return new SandboxError(FILE_CODES.get(errno) ?? "FILE_FAILED", `${subject}: ${name}`, {
        cause: Object.assign(new Error(name), { code: name }),
      });
  }
}

/** A command whose arguments and environment are more than the kernel or the wire takes. */
export function commandTooLong(command: string): SandboxError {
  return new SandboxError("INVALID_ARGUMENT", `The arguments of ${shorten(command)} are too long`, {
    hint: "One argument has 128 KiB at most, all of them and the environment 256 KiB. Put long text into a file or into standard input.",
  });
}

function commandFailure(errno: number, name: string, command: string): SandboxError {
  const code = CODES.get(errno) ?? "EXECUTION_FAILED";
  const shown = shorten(command);
  if (errno === constants.errno.EAGAIN || errno === constants.errno.ENOMEM) {
    return new SandboxError(
      "EXECUTION_FAILED",
      `Cannot start ${shown}: the sandbox is at its limit (${name})`,
      {
        hint: "Something inside uses up its processes or memory; raise limits.pids or limits.memory.",
      },
    );
  }
  if (errno === constants.errno.E2BIG) return commandTooLong(command);
  if (code === "COMMAND_NOT_FOUND") {
    return new SandboxError(code, `The command ${shown} was not found inside the sandbox`, {
      hint: "Install it where the sandbox can see it. It is looked up in PATH inside; a script also needs the interpreter that its first line names.",
    });
  }
  return new SandboxError(code, `Cannot start ${shown}: ${name}`, {
    hint: "Is it an executable file for this machine?",
  });
}

function shorten(command: string): string {
  return JSON.stringify(command.length > 80 ? `${command.slice(0, 80)}…` : command);
}

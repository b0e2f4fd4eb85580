import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { SandboxError, systemCode } from "../../kit/errors.js";

const NAME = /^audit-(\d{12})\.jsonl$/;

/** One file of the log. */
export interface Segment {
  readonly name: string;
  readonly size: number;
}

/** The name of the file whose first record has this number. */
export function segmentName(firstSeq: number): string {
  return `audit-${String(firstSeq).padStart(12, "0")}.jsonl`;
}

/** The number of the first record that a file's name promises. */
export function firstSeqOf(name: string): number {
  return Number(NAME.exec(name)?.[1]);
}

/** The log's files in the order of their records, empty ones too. */
export function listSegments(directory: string): Segment[] {
  return readdirSync(directory)
    .filter((name) => NAME.test(name))
    .sort()
    .flatMap((name) => {
      // Another process may remove the oldest while we look.
      const stat = statSync(join(directory, name), { throwIfNoEntry: false });
      return stat === undefined ? [] : [{ name, size: stat.size }];
    });
}

/** The files that have records in them, for a reader. FILE_NOT_FOUND when there is no such log at all. */
export function openForReading(directory: string): Segment[] {
  try {
    return listSegments(directory).filter(({ size }) => size > 0);
  } catch (error) {
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new SandboxError("FILE_NOT_FOUND", "There is no audit log here", {
        hint: "Give the directory that the AuditLogger writes to.",
        cause: error,
      });
    }
    throw readFailure(error);
  }
}

/** What a reader throws when the system refuses. */
export function readFailure(error: unknown): SandboxError {
  const code = systemCode(error) ?? "unknown error";
  return new SandboxError("AUDIT_FAILED", `The audit log cannot be read (${code})`, {
    hint: "Read it as the user who writes it: other users have no access.",
    cause: error,
  });
}

import { SandboxError } from "../../../kit/errors.js";
import type { GuardedFiles } from "./call-kind.js";

/** A file, or a directory and the files in it. FILE_DENIED: the policy keeps some of them back. */
export async function allFilesAt(
  path: string,
  { files, maySee }: Pick<GuardedFiles, "files" | "maySee">,
): Promise<string[]> {
  const { type } = await files.stat(path);
  if (type !== "directory") return [path];
  const entries = await files.list(path, { recursive: true });
  if (!entries.every((entry) => maySee(entry.path))) {
    throw new SandboxError("FILE_DENIED", `The policy protects a file in ${JSON.stringify(path)}`, {
      hint: "Delete the files that you may delete by name.",
    });
  }
  return [path, ...entries.filter((entry) => entry.type !== "directory").map((entry) => entry.path)];
}

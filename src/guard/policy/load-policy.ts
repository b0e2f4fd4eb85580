import { type FileHandle, open } from "node:fs/promises";
import { SandboxError, systemCode } from "../../kit/errors.js";
import { parsePolicy } from "./parse-policy.js";
import type { Policy } from "./policy.js";

const MAX_BYTES = 1024 * 1024;

/** Reads a policy file. Anything wrong with it is an error, never a policy that allows more. */
export async function loadPolicy(path: string): Promise<Policy> {
  return parsePolicy(await readPolicyText(path), path);
}

/** The text of a policy file, of which no more than the limit is read. */
export async function readPolicyText(path: string): Promise<string> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, "r");
    const buffer = Buffer.alloc(MAX_BYTES + 1);
    let length = 0;
    while (length < buffer.length) {
      const { bytesRead } = await file.read(buffer, length, buffer.length - length);
      if (bytesRead === 0) break;
      length += bytesRead;
    }
    if (length > MAX_BYTES) {
      throw new SandboxError("POLICY_INVALID", `${path}: larger than 1 MiB`, {
        hint: "Is this the right file?",
      });
    }
    return new TextDecoder("utf-8", { fatal: true }).decode(buffer.subarray(0, length));
  } catch (error) {
    if (error instanceof SandboxError) throw error;
    const code = systemCode(error);
    if (code === "ENOENT" || code === "ENOTDIR") {
      throw new SandboxError("FILE_NOT_FOUND", `${path}: there is no such policy file`, {
        hint: "skerry policy init prints one to start from.",
      });
    }
    throw new SandboxError("POLICY_INVALID", `${path}: cannot be read (${code ?? "not UTF-8 text"})`, {
      hint: "Check that it is a text file and that you may read it.",
      cause: error,
    });
  } finally {
    await file?.close();
  }
}

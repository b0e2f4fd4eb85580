import { randomBytes } from "node:crypto";
import { createReadStream, createWriteStream } from "node:fs";
import { readFile, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { pipeline } from "node:stream/promises";
import { SandboxError, systemCode } from "../errors.js";
import type { Sandbox } from "../sandbox/index.js";
import type { Transfer } from "./arguments.js";

/** Copies a file of this machine into the sandbox's workspace. */
export async function putFile(sandbox: Sandbox, { hostPath, path }: Transfer): Promise<void> {
  const source = createReadStream(hostPath);
  await new Promise<void>((resolve, reject) => {
    source.once("open", () => resolve());
    source.once("error", (cause) => reject(hostError(hostPath, cause)));
  });
  await sandbox.files.writeStream(path, source);
}

/** Copies a file of the workspace to this machine: whole or not at all. A directory gets it under its own name. */
export async function fetchFile(sandbox: Sandbox, transfer: Transfer): Promise<void> {
  await writeWhole(transfer, await sandbox.files.readStream(transfer.path));
}

/** Writes what came out of a workspace to this machine, in the same way. */
export async function writeHostFile(transfer: Transfer, content: Buffer): Promise<void> {
  await writeWhole(transfer, [content]);
}

/** The bytes of a file of this machine. */
export async function readHostFile(hostPath: string): Promise<Buffer> {
  return readFile(hostPath).catch((cause: unknown) => {
    throw hostError(hostPath, cause);
  });
}

/** Refuses what cannot be put into a workspace before anything starts. */
export async function requireFile({ hostPath }: Transfer): Promise<void> {
  const found = await stat(hostPath).catch((cause: unknown) => {
    throw new SandboxError(
      "FILE_NOT_FOUND",
      `--input: ${hostPath} cannot be found (${systemCode(cause) ?? "?"})`,
      { cause },
    );
  });
  if (found.isFile()) return;
  throw new SandboxError("FILE_TYPE", `--input: ${hostPath} is not a file`, {
    hint: "Give files one by one.",
  });
}

async function writeWhole(
  { path, hostPath }: Transfer,
  source: AsyncIterable<Buffer> | Iterable<Buffer>,
): Promise<void> {
  const found = await stat(hostPath).catch(() => undefined);
  const target = found?.isDirectory() ? join(hostPath, basename(path)) : hostPath;
  // A device or a pipe is written to; only a file can be replaced.
  if (found !== undefined && !found.isFile() && !found.isDirectory()) {
    await pipeline(source, createWriteStream(target));
    return;
  }
  const partial = join(
    dirname(target),
    `.${basename(target).slice(0, 200)}.${randomBytes(4).toString("hex")}.partial`,
  );
  try {
    await pipeline(source, createWriteStream(partial, { flags: "wx" }));
    await rename(partial, target);
  } catch (error) {
    await rm(partial, { force: true });
    throw error instanceof SandboxError ? error : hostError(target, error);
  }
}

function hostError(path: string, cause: unknown): SandboxError {
  const code = systemCode(cause);
  if (code === "ENOENT")
    return new SandboxError("FILE_NOT_FOUND", `${path}: no such file or directory`, { cause });
  if (code === "EISDIR") return new SandboxError("FILE_TYPE", `${path} is a directory`, { cause });
  if (code === "ENOSPC") return new SandboxError("DISK_FULL", `${path}: the disk is full`, { cause });
  return new SandboxError("FILE_FAILED", `${path}: ${code ?? String(cause)}`, { cause });
}

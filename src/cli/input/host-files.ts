import { randomBytes } from "node:crypto";
import { createReadStream, rmSync } from "node:fs";
import { type FileHandle, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { Readable } from "node:stream";
import { SandboxError, systemCode } from "../../kit/errors.js";
import type { RunningSandbox } from "../../runtime/sandbox/index.js";
import type { Transfer } from "../definition/index.js";

/** Copies a file of this machine into the sandbox's workspace. */
export async function putFile(sandbox: RunningSandbox, { hostPath, path }: Transfer): Promise<void> {
  await sandbox.files.writeStream(path, await openHostFile(hostPath));
}

/** Opens a file of this machine for reading; the caller destroys the stream. */
export async function openHostFile(hostPath: string): Promise<Readable> {
  const source = createReadStream(hostPath);
  await new Promise<void>((resolve, reject) => {
    source.once("open", () => resolve());
    source.once("error", (cause) => reject(hostError(hostPath, cause)));
  });
  return source;
}

/** Copies a file of the workspace to this machine: whole or not at all. A directory gets it under its own name. */
export async function fetchFile(sandbox: RunningSandbox, transfer: Transfer): Promise<void> {
  const source = await sandbox.files.readStream(transfer.path);
  try {
    await writeHostFiles([transfer], source);
  } finally {
    source.destroy();
  }
}

/** Writes what comes out of a workspace to one or more places on this machine, in the same way: all of them or none. */
export async function writeHostFiles(
  transfers: readonly Transfer[],
  content: AsyncIterable<Uint8Array>,
): Promise<void> {
  const targets: HostTarget[] = [];
  try {
    for (const transfer of transfers) targets.push(await HostTarget.open(transfer));
    for await (const piece of content) for (const target of targets) await target.write(piece);
    for (const target of targets) await target.commit();
  } finally {
    for (const target of targets) await target.close();
  }
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

/** A file of this machine that is written beside its place, and put there when it is whole. */
class HostTarget {
  readonly #onExit = () => {
    if (this.partial !== undefined) rmSync(this.partial, { force: true });
  };

  private constructor(
    private readonly path: string,
    /** Where it is written until then; undefined: a device or a pipe is written to, only a file can be replaced. */
    private partial: string | undefined,
    private readonly handle: FileHandle,
  ) {
    // A second Ctrl-C ends the process at once.
    process.once("exit", this.#onExit);
  }

  static async open({ path, hostPath }: Transfer): Promise<HostTarget> {
    const found = await stat(hostPath).catch(() => undefined);
    const target = found?.isDirectory() ? join(hostPath, basename(path)) : hostPath;
    const isFile = found === undefined || found.isFile() || found.isDirectory();
    const name = `.${basename(target).slice(0, 200)}.${randomBytes(4).toString("hex")}.partial`;
    const partial = isFile ? join(dirname(target), name) : undefined;
    try {
      return new HostTarget(target, partial, await open(partial ?? target, isFile ? "wx" : "w"));
    } catch (cause) {
      throw hostError(target, cause);
    }
  }

  async write(piece: Uint8Array): Promise<void> {
    await this.handle.writeFile(piece).catch((cause: unknown) => {
      throw hostError(this.path, cause);
    });
  }

  async commit(): Promise<void> {
    if (this.partial === undefined) return;
    await rename(this.partial, this.path).catch((cause: unknown) => {
      throw hostError(this.path, cause);
    });
    this.partial = undefined;
  }

  /** Removes files that were not committed. */
  async close(): Promise<void> {
    process.off("exit", this.#onExit);
    await this.handle.close().catch(() => undefined);
    if (this.partial !== undefined) await rm(this.partial, { force: true });
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

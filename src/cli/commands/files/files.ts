import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { RunningSandbox } from "../../../runtime/sandbox/index.js";
import type { Entry } from "../../../runtime/workspace/index.js";
import type { SandboxOptions } from "../../definition/index.js";
import { fetchFile, Interrupt, putFile } from "../../input/index.js";
import { openManager, openSandbox, requireSession, tellLeftOut } from "../../open/index.js";
import { formatTable, jsonText, stdout } from "../../output/index.js";

export interface FilesOptions extends SandboxOptions {
  readonly session: string;
  readonly recursive?: boolean;
  readonly json?: boolean;
}

/** `skerry files ls`. */
export function list(paths: readonly string[], options: FilesOptions): Promise<number> {
  return withFiles(options, "existing", async ({ files }) => {
    const entries: Entry[] = [];
    for (const path of paths.length === 0 ? ["."] : paths) {
      entries.push(...(await files.list(path, { recursive: options.recursive ?? false })));
    }
    await stdout.write(options.json ? `${jsonText(entries.map(toJson))}\n` : describe(entries));
  });
}

/** `skerry files cat`. */
export function print(paths: readonly string[], options: FilesOptions): Promise<number> {
  return withFiles(options, "existing", async ({ files }, signal) => {
    for (const path of paths) {
      for await (const chunk of await files.readStream(path)) await stdout.write(chunk as Uint8Array, signal);
    }
  });
}

/** `skerry files put`. */
export function put([file, path]: readonly string[], options: FilesOptions): Promise<number> {
  return withFiles(options, "new", async (sandbox) => {
    if (file === "-") await sandbox.files.writeStream(path ?? "stdin", process.stdin);
    else if (await isDirectory(file!)) await putDirectory(sandbox, file!, path);
    else await putFile(sandbox, { hostPath: file!, path: path ?? basename(file!) });
  });
}

/** `skerry files get`. */
export function get([path, file]: readonly string[], options: FilesOptions): Promise<number> {
  if (file === "-") return print([path!], options);
  return withFiles(options, "existing", async (sandbox) => {
    const hostPath = file ?? basename(path!);
    if (!(await isDirectoryInside(sandbox, path!))) return fetchFile(sandbox, { path: path!, hostPath });
    const { leftOut } = await sandbox.projects.getDirectory(path!, hostPath);
    await tellLeftOut(leftOut);
  });
}

/** `skerry files rm`. */
export function remove(paths: readonly string[], options: FilesOptions): Promise<number> {
  return withFiles(options, "existing", async ({ files }) => {
    for (const path of paths) await files.remove(path, { recursive: options.recursive ?? false });
  });
}

async function isDirectory(hostPath: string): Promise<boolean> {
  return (await stat(hostPath).catch(() => undefined))?.isDirectory() === true;
}

async function isDirectoryInside({ files }: RunningSandbox, path: string): Promise<boolean> {
  return (await files.stat(path).catch(() => undefined))?.type === "directory";
}

/** Like a file, a directory keeps its name unless another one is given. */
async function putDirectory(
  sandbox: RunningSandbox,
  hostPath: string,
  path: string | undefined,
): Promise<void> {
  const { leftOut } = await sandbox.projects.putDirectory(hostPath, path ?? basename(resolve(hostPath)));
  await tellLeftOut(leftOut);
}

async function withFiles(
  options: FilesOptions,
  session: "existing" | "new",
  use: (sandbox: RunningSandbox, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  using interrupt = new Interrupt();
  await using manager = await openManager(options);
  if (session === "existing") requireSession(manager, options.session);
  await use(await openSandbox(manager, options, interrupt.signal), interrupt.signal);
  return interrupt.status ?? 0;
}

function toJson({ path, type, size, mode, modifiedMs }: Entry) {
  return { path, type, size, mode, modifiedAt: new Date(modifiedMs).toISOString() };
}

/** A table for a person, plain paths for a program. */
function describe(entries: readonly Entry[]): string {
  if (!stdout.isTerminal) return entries.map(({ path }) => `${path}\n`).join("");
  const rows = entries.map(({ path, type, size, modifiedMs }) => [
    type === "file" ? String(size) : type,
    new Date(modifiedMs).toISOString().slice(0, 16).replace("T", " "),
    escapeUnsafe(path) + (type === "directory" ? "/" : ""),
  ]);
  return formatTable(rows, ["right", "left", "left"]);
}

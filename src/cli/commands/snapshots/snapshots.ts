import type { Readable } from "node:stream";
import type { SandboxManager } from "../../../core/manager/index.js";
import { SandboxError } from "../../../kit/errors.js";
import { escapeUnsafe } from "../../../kit/escape-unsafe.js";
import type { SnapshotInfo } from "../../../runtime/workspace/index.js";
import type { GlobalOptions } from "../../definition/index.js";
import { Interrupt, openHostFile, writeHostFiles } from "../../input/index.js";
import { openManager, openSandbox, requireSession } from "../../open/index.js";
import {
  formatTable,
  jsonText,
  paintFor,
  reportError,
  sizeText,
  stderr,
  stdout,
  withProgress,
} from "../../output/index.js";

export interface SnapshotsOptions extends GlobalOptions {
  readonly session: string;
  readonly backend?: string;
  readonly name?: string;
  readonly snapshot?: string;
  readonly json?: boolean;
}

/** `skerry snapshots create`. */
export function create(options: SnapshotsOptions): Promise<number> {
  return withSession(options, async (manager, signal) => {
    const sandbox = await openSandbox(manager, options, signal);
    const info = await withProgress("taking a snapshot", (onProgress) =>
      sandbox.snapshot({ name: options.name, signal, onProgress }),
    );
    await tell(info, options);
  });
}

/** `skerry snapshots ls`. */
export function list(options: SnapshotsOptions): Promise<number> {
  return withSession(options, async (manager) => {
    const infos = await manager.snapshots(options.session).list();
    if (options.json) await stdout.write(`${jsonText(infos)}\n`);
    else if (!stdout.isTerminal) await stdout.write(infos.map(({ id }) => `${id}\n`).join(""));
    else await stdout.write(infos.length === 0 ? "no snapshots\n" : table(infos, options));
  });
}

/** `skerry snapshots restore`: differences from the snapshot are printed on standard error. */
export function restore([snapshot]: readonly string[], options: SnapshotsOptions): Promise<number> {
  return withSession(options, async (manager, signal) => {
    // What another process runs would see its files change, and may bring its own back.
    if (manager.isRunning(options.session)) throw runsElsewhere(options.session);
    const sandbox = await openSandbox(manager, options, signal);
    const report = await withProgress("bringing files back", (onProgress) =>
      sandbox.restore(snapshot!, { signal, onProgress }),
    );
    if (options.json) {
      await stdout.write(`${jsonText(report)}\n`);
      return;
    }
    for (const { path, reason } of report.skipped)
      await stderr.write(`skerry: ${escapeUnsafe(path)}: ${reason}\n`);
    const { written, removed, unchanged } = report;
    await stdout.write(`${written} written, ${removed} removed, ${unchanged} unchanged\n`);
  });
}

/** `skerry snapshots rm`: all that exist, then an error for those that did not. */
export function remove(ids: readonly string[], options: SnapshotsOptions): Promise<number> {
  return withSession(options, async (manager) => {
    const snapshots = manager.snapshots(options.session);
    const deleted: string[] = [];
    for (const id of ids) if (await snapshots.delete(id)) deleted.push(id);
    const missing = ids.filter((id) => !deleted.includes(id));
    if (missing.length > 0) {
      throw new SandboxError(
        "SNAPSHOT_NOT_FOUND",
        `session ${JSON.stringify(options.session)} has no snapshot ${missing.map((id) => JSON.stringify(id)).join(", ")}`,
        { hint: `List them with: skerry snapshots ls --session ${options.session}` },
      );
    }
    if (options.json) await stdout.write(`${jsonText(deleted)}\n`);
  });
}

/** `skerry snapshots export`. */
export function exportArchive([id, file]: readonly string[], options: SnapshotsOptions): Promise<number> {
  if (file === "-" && options.json) {
    throw new SandboxError("INVALID_ARGUMENT", "--json and an archive cannot both go to standard output", {
      hint: "Name a file, or leave --json out.",
    });
  }
  return withSession(options, async (manager, signal) => {
    const archive = await manager.snapshots(options.session).export(id!);
    const onAbort = () => void archive.destroy(signal.reason as Error);
    signal.addEventListener("abort", onAbort, { once: true });
    const hostPath = file ?? `${id}.tar`;
    let bytes = 0;
    await withProgress("writing the archive", async (show) => {
      const counted = async function* () {
        for await (const chunk of archive) {
          bytes += chunk.length;
          show({ bytes });
          yield chunk as Uint8Array;
        }
      };
      if (hostPath === "-") for await (const chunk of counted()) await stdout.write(chunk, signal);
      else await writeHostFiles([{ path: `${id}.tar`, hostPath }], counted());
    });
    signal.removeEventListener("abort", onAbort);
    if (options.json) await stdout.write(`${jsonText({ id, file: hostPath, bytes })}\n`);
  });
}

/** `skerry snapshots import`. */
export function importArchive([file]: readonly string[], options: SnapshotsOptions): Promise<number> {
  return withSession(options, async (manager, signal) => {
    const archive: Readable = file === "-" ? process.stdin : await openHostFile(file!);
    const info = await withProgress("reading the archive", (onProgress) =>
      manager.snapshots(options.session).import(archive, { name: options.name, signal, onProgress }),
    );
    await tell(info, options);
  });
}

/** `skerry snapshots fork`: prints the new session's name. */
export function fork([name]: readonly string[], options: SnapshotsOptions): Promise<number> {
  return withSession(options, async (manager, signal) => {
    const sandbox = await openSandbox(manager, options, signal);
    const { sessionId } = await sandbox.fork(name, { snapshotId: options.snapshot, signal });
    await stdout.write(options.json ? `${jsonText({ sessionId })}\n` : `${escapeUnsafe(sessionId)}\n`);
  });
}

/** Only for a session that is there: looking at it must not make it. */
async function withSession(
  options: SnapshotsOptions,
  use: (manager: SandboxManager, signal: AbortSignal) => Promise<void>,
): Promise<number> {
  using interrupt = new Interrupt();
  await using manager = await openManager(options);
  requireSession(manager, options.session);
  try {
    await use(manager, interrupt.signal);
  } catch (error) {
    if (interrupt.status === undefined) throw error;
    if (!stdout.closed) await reportError(interrupt.signal.reason, options.json === true);
  }
  return interrupt.status ?? 0;
}

/** The id for a program, more for a person. */
async function tell(info: SnapshotInfo, options: SnapshotsOptions): Promise<void> {
  const { id, files, bytes, storedBytes, skipped } = info;
  if (options.json) await stdout.write(`${jsonText(info)}\n`);
  else if (!stdout.isTerminal) await stdout.write(`${id}\n`);
  else
    await stdout.write(`${id}  ${files} files, ${sizeText(bytes)}, ${sizeText(storedBytes)} of them new\n`);
  if (skipped > 0 && !options.json) {
    await stderr.write(`skerry: ${skipped} left out: sockets, FIFOs, devices, or names that are not UTF-8\n`);
  }
}

function table(infos: readonly SnapshotInfo[], options: SnapshotsOptions): string {
  const paint = paintFor(stdout, options.color);
  const header = ["ID", "CREATED", "FILES", "SIZE", "NAME"].map((title) => paint("bold", title));
  const rows = infos.map(({ id, createdAt, files, bytes, name = "" }) => [
    id,
    createdAt.toISOString().slice(0, 16).replace("T", " "),
    String(files),
    sizeText(bytes),
    escapeUnsafe(name),
  ]);
  return formatTable([header, ...rows], ["left", "left", "right", "right", "left"]);
}

function runsElsewhere(session: string): SandboxError {
  return new SandboxError("SANDBOX_BUSY", `session ${JSON.stringify(session)} runs in another process`, {
    hint: "End that one first, or fork the snapshot into a new session: skerry snapshots fork.",
  });
}

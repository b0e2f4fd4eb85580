import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { ifMissing } from "../../../kit/if-missing.js";
import { type SnapshotEntry, type SnapshotInfo, snapshotDamaged } from "./snapshot.js";

const VERSION = 1;
const PIECE_CHARACTERS = 64 * 1024;

/** What is on disk of a snapshot besides its entries and contents. */
export interface SnapshotRecord {
  readonly info: SnapshotInfo;
  /** The process it belongs to; when that is gone, it is removed. */
  readonly heldBy?: string;
}

/** A record as the text of its file. */
export function formatRecord({ info, heldBy }: SnapshotRecord): string {
  return JSON.stringify({ version: VERSION, ...info, ...(heldBy !== undefined && { heldBy }) });
}

/** Undefined: there is none. */
export async function readRecord(path: string, id: string): Promise<SnapshotRecord | undefined> {
  const text = await readFile(path, "utf8").catch(ifMissing(undefined));
  if (text === undefined) return undefined;
  try {
    return parseRecord(JSON.parse(text), id);
  } catch (error) {
    throw snapshotDamaged(id, error);
  }
}

function parseRecord(value: Record<string, unknown>, id: string): SnapshotRecord {
  const { version, name, sessionId, createdAt, files, bytes, storedBytes, skipped, heldBy } = value;
  const counts = [files, bytes, storedBytes, skipped];
  const date = new Date(String(createdAt));
  if (version !== VERSION || value["id"] !== id || typeof sessionId !== "string")
    throw new Error("unknown form");
  if (!counts.every(Number.isSafeInteger) || Number.isNaN(date.getTime())) throw new Error("no numbers");
  const [fileCount, byteCount, storedCount, skippedCount] = counts as [number, number, number, number];
  return {
    info: {
      id,
      ...(typeof name === "string" && { name }),
      sessionId,
      createdAt: date,
      files: fileCount,
      bytes: byteCount,
      storedBytes: storedCount,
      skipped: skippedCount,
    },
    ...(typeof heldBy === "string" && { heldBy }),
  };
}

/** Entries as the text of their file, a line each, in pieces that are worth a write. */
export function* formatEntries(entries: Iterable<SnapshotEntry>): Generator<string> {
  let piece = "";
  for (const entry of entries) {
    piece += `${JSON.stringify(entry)}\n`;
    if (piece.length < PIECE_CHARACTERS) continue;
    yield piece;
    piece = "";
  }
  yield piece;
}

/** The entries of a file, as they are read. */
export async function* readEntries(path: string, id: string): AsyncGenerator<SnapshotEntry> {
  let rest = "";
  // Not readline: it takes more characters for the end of a line than JSON escapes, and names have them.
  for await (const chunk of createReadStream(path, { encoding: "utf8" })) {
    const lines = (rest + (chunk as string)).split("\n");
    rest = lines.pop()!;
    for (const line of lines) yield parseEntry(line, id);
  }
  if (rest !== "") throw snapshotDamaged(id);
}

function parseEntry(line: string, id: string): SnapshotEntry {
  try {
    const entry = JSON.parse(line) as SnapshotEntry;
    if (isEntry(entry)) return entry;
  } catch (error) {
    throw snapshotDamaged(id, error);
  }
  throw snapshotDamaged(id);
}

function isEntry(entry: SnapshotEntry): boolean {
  if (typeof entry.path !== "string") return false;
  if (entry.type === "symlink") return typeof entry.target === "string";
  if (!Number.isInteger(entry.mode) || entry.mode < 0 || entry.mode > 0o777) return false;
  if (entry.type === "directory") return true;
  const { size, mtimeMs, sha256 } = entry;
  return Number.isSafeInteger(size) && Number.isFinite(mtimeMs) && /^[0-9a-f]{64}$/.test(sha256);
}

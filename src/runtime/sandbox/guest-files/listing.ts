import type { Entry } from "../../workspace/index.js";
import { type ByteName, textOf } from "../../workspace/index.js";
import { notAListing } from "./failures.js";

/** 64 levels of 255 bytes, their slashes, and the numbers before. */
const MAX_RECORD_BYTES = 20 * 1024;
const MAX_NAME_BYTES = 255;
/** All records together. More is a tree that is work for the host, and is cut. */
const MAX_LISTING_BYTES = 32 * 1024 * 1024;

const HEADER =
  /^([a-zA-Z?]) ([0-9a-f]{1,8}) (\d{1,19}) (-?\d{1,19})(?:\.(\d{1,12}))? (-?\d{1,19})(?:\.(\d{1,12}))? (\d{1,20})$/;

const KINDS = { f: "file", d: "directory", l: "symlink", p: "a FIFO", s: "a socket" } as const;
const KIND_BITS: ReadonlyMap<number, keyof typeof KINDS> = new Map([
  [0o100000, "f"],
  [0o040000, "d"],
  [0o120000, "l"],
  [0o010000, "p"],
  [0o140000, "s"],
]);

/** What find printed about one file. The sandbox may lie. */
export interface FoundEntry {
  /** Relative to where the search began; "" is the start itself. */
  readonly path: ByteName;
  readonly type: Entry["type"];
  /** For a message when it is no regular file. */
  readonly shown: string;
  readonly mode: number;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
  readonly ino: bigint;
}

export interface ListingLimits {
  readonly maxEntries: number;
  readonly maxDepth: number;
}

/** Takes the output of `list` apart as it comes. Memory is bounded, and no path leaves where the search began. */
export class Listing {
  readonly found: FoundEntry[] = [];
  /** True when there was more than the limits allow. */
  truncated = false;
  #rest: Buffer = Buffer.alloc(0);
  #bytes = 0;

  constructor(private readonly limits: ListingLimits) {}

  /** False: the limit is reached. Throws for output that is not a listing. */
  push(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    if (this.#bytes > MAX_LISTING_BYTES) this.truncated = true;
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let end = bytes.indexOf(0); end >= 0 && !this.truncated; end = bytes.indexOf(0)) {
      if (this.found.length >= this.limits.maxEntries) this.truncated = true;
      else this.#add(bytes.subarray(0, end));
      bytes = bytes.subarray(end + 1);
    }
    if (!this.truncated && bytes.length > MAX_RECORD_BYTES) throw notAListing();
    this.#rest = Buffer.from(bytes.subarray(0, MAX_RECORD_BYTES));
    return !this.truncated;
  }

  #add(record: Buffer): void {
    const found = parseRecord(record);
    const depth = found.path.split("/").length;
    if (depth > this.limits.maxDepth) throw notAListing();
    this.found.push(found);
  }
}

/** One record, without its NUL. */
export function parseRecord(record: Buffer): FoundEntry {
  const text = record.length > MAX_RECORD_BYTES ? "" : record.toString("latin1");
  const line = text.indexOf("\n");
  const fields = line < 0 ? null : HEADER.exec(text.slice(0, line));
  if (fields === null) throw notAListing();
  const [, letter, mode, size, mtime, mtimeFraction, ctime, ctimeFraction, ino] = fields;
  const raw = Number.parseInt(mode!, letter === "x" ? 16 : 8);
  const kind = letter === "x" ? KIND_BITS.get(raw & 0o170000) : letter;
  if (Number.isNaN(raw)) throw notAListing();
  return {
    path: innerPath(text.slice(line + 1)),
    type: kind === "f" || kind === "d" || kind === "l" ? KINDS[kind] : "other",
    shown: kind === "d" ? "a directory" : kind === "p" || kind === "s" ? KINDS[kind] : "a device",
    mode: raw & 0o7777,
    size: BigInt(size!),
    mtimeNs: nanoseconds(mtime!, mtimeFraction),
    ctimeNs: nanoseconds(ctime!, ctimeFraction),
    ino: BigInt(ino!),
  };
}

/** The path that find was told to start at, or one beneath it. */
function innerPath(path: string): ByteName {
  if (path === "." || path === "./.") return "";
  if (!path.startsWith("./")) throw notAListing();
  const inner = path.slice(2);
  for (const name of inner.split("/")) {
    if (name === "" || name === "." || name === ".." || name.length > MAX_NAME_BYTES) throw notAListing();
  }
  return inner;
}

function nanoseconds(seconds: string, fraction = ""): bigint {
  return BigInt(seconds) * 1_000_000_000n + BigInt(fraction.slice(0, 9).padEnd(9, "0"));
}

/** What our own callers get to see of it. */
export function entryOfFound(found: FoundEntry, path = textOf(found.path)): Entry {
  const { type, mode, size, mtimeNs } = found;
  return { path, type, size: Number(size), mode, modifiedMs: Number(mtimeNs / 1000n) / 1000 };
}

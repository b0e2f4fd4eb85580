import { constants, fstatSync, fsyncSync, openSync, readFileSync, readSync, writeSync } from "node:fs";
import { join } from "node:path";
import { systemCode } from "../../kit/errors.js";
import { bootId } from "../../kit/process-label.js";
import { readFailure } from "./segments.js";

const NAME = "head";
/** A disk writes a sector whole or not at all. */
const SECTOR_BYTES = 512;

/** Where the chain ends. */
export interface Head {
  readonly seq: number;
  readonly hash: string;
  readonly file: string;
  readonly size: number;
}

/** What the anchor says: where the chain ended when it was last written to, and what was on disk for certain. */
export interface Anchor extends Head {
  /** The run of the machine that wrote it. */
  readonly boot: string;
  /** Records up to this one survive a power cut. */
  readonly synced: number;
}

/**
 * A small file that says where the chain ends, so that a log which was cut at the end is noticed. The first sector is
 * the head, the second the last record that is on disk. Both are overwritten in place.
 */
export class HeadAnchor {
  readonly fd: number;
  readonly isNew: boolean;

  /** Opens the one in the directory, or makes it. A new one is on disk before the first record is. */
  constructor(directory: string) {
    const path = join(directory, NAME);
    const flags = constants.O_RDWR | constants.O_NOFOLLOW;
    let fd: number | undefined;
    try {
      fd = openSync(path, flags);
    } catch (error) {
      if (systemCode(error) !== "ENOENT") throw error;
    }
    this.isNew = fd === undefined;
    this.fd = fd ?? openSync(path, flags | constants.O_CREAT | constants.O_EXCL, 0o600);
  }

  /** The sector of the head as it stands there: equal text, equal head. */
  headText(): string {
    return readSector(this.fd, 0);
  }

  /** True when the file was removed under us. */
  get isRemoved(): boolean {
    return fstatSync(this.fd).nlink === 0;
  }

  /** Returns the text written. */
  writeHead(head: Head): string {
    return writeSector(this.fd, 0, { ...head, boot: bootId() });
  }

  /** Never goes back: several processes tell what they know. */
  writeSynced(seq: number): void {
    const known = parseSynced(readSector(this.fd, 1));
    if (known === undefined || known < seq) writeSector(this.fd, 1, { synced: seq });
  }

  flush(): void {
    fsyncSync(this.fd);
  }

  read(): Anchor | undefined {
    return parseAnchor(readSector(this.fd, 0) + readSector(this.fd, 1));
  }
}

/** The anchor of a directory; "missing" when there is none, "damaged" when it cannot be read as one. */
export function readAnchor(directory: string): Anchor | "missing" | "damaged" {
  let text: string;
  try {
    text = readFileSync(join(directory, NAME), "latin1");
  } catch (error) {
    if (systemCode(error) === "ENOENT") return "missing";
    throw readFailure(error);
  }
  return parseAnchor(text) ?? "damaged";
}

/** True when records after this one may be missing because the machine stopped before they were on disk. */
export function wasPowerCut(anchor: Anchor, lastSeq: number): boolean {
  return anchor.boot !== bootId() && lastSeq >= anchor.synced;
}

function readSector(fd: number, index: number): string {
  const sector = Buffer.alloc(SECTOR_BYTES);
  const bytes = readSync(fd, sector, 0, SECTOR_BYTES, index * SECTOR_BYTES);
  return sector.toString("latin1", 0, bytes);
}

function writeSector(fd: number, index: number, value: object): string {
  const text = `${JSON.stringify(value).padEnd(SECTOR_BYTES - 1)}\n`;
  if (text.length !== SECTOR_BYTES) throw new RangeError("the anchor does not fit into its sector");
  writeSync(fd, text, index * SECTOR_BYTES, "latin1");
  return text;
}

function parseAnchor(text: string): Anchor | undefined {
  const head = parse(text.slice(0, SECTOR_BYTES)) as Partial<Anchor> | undefined;
  const { seq, hash, file, size, boot } = head ?? {};
  if (!isCount(seq) || !isCount(size)) return undefined;
  if (typeof hash !== "string" || typeof file !== "string" || typeof boot !== "string") return undefined;
  if (!/^[0-9a-f]{64}$/.test(hash) || !/^audit-\d{12}\.jsonl$/.test(file)) return undefined;
  return { seq, hash, file, size, boot, synced: parseSynced(text.slice(SECTOR_BYTES)) ?? 0 };
}

function parseSynced(text: string): number | undefined {
  const { synced } = (parse(text) ?? {}) as { synced?: unknown };
  return isCount(synced) ? synced : undefined;
}

function parse(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

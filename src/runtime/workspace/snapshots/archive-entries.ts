import { staysInside } from "../copy-entry.js";
import { PathTraversalError, quoted, tooLarge } from "../file-errors.js";
import { isReserved } from "../host-tree.js";
import { MAX_PATH_BYTES, parseRelativePath, type RelativePath } from "../relative-path.js";
import { TREE_MAX_DEPTH } from "../workspace-tree.js";
import { archiveInvalid } from "./archive-bytes.js";
import { type SnapshotEntry, type SnapshotLimits, tooMany, tooMuch } from "./snapshot.js";
import type { TarHeader } from "./tar-stream.js";

const TYPES: Readonly<Record<string, string>> = {
  link: "a hard link",
  "character-device": "a device",
  "block-device": "a device",
  fifo: "a FIFO",
  "contiguous-file": "a contiguous file",
};
const LATEST_MS = 2 ** 33 * 1000;

/** An entry whose content, where it has one, is still to be read. */
export type CheckedEntry = SnapshotEntry | Omit<SnapshotEntry & { type: "file" }, "sha256" | "size">;

/** The entries of an archive: each is checked by itself, and against all that came before it. */
export class ArchiveEntries {
  files = 0;
  bytes = 0;
  readonly #entries = new Map<string, SnapshotEntry>();
  /** Directories that only something in them has told of. */
  readonly #implied = new Set<string>();
  #headers = 0;

  constructor(private readonly limits: SnapshotLimits) {}

  /** Throws for what may not be in an archive. Undefined: it is the workspace itself. */
  check(header: TarHeader): CheckedEntry | undefined {
    const { maxFiles, maxBytes } = this.limits;
    // One more, for the workspace itself.
    if (++this.#headers > maxFiles + 1) throw tooMany(maxFiles);
    const name = nameOf(header.name, header.pax?.["path"]);
    const { size, mode } = header;
    const type = typeOf(header, name);
    const path = parseRelativePath(name);
    if (!Number.isSafeInteger(size) || !Number.isSafeInteger(mode)) {
      throw archiveInvalid(`${quoted(name)} has an invalid header`);
    }
    if (type === "file") {
      if (size > maxBytes) throw tooLarge(name, maxBytes);
      if (this.bytes + size > maxBytes) throw tooMuch(maxBytes);
    } else if (size !== 0) throw archiveInvalid(`${quoted(name)} is no file, and has content`);
    if (path.text === "") {
      if (type === "directory") return undefined;
      throw archiveInvalid(`${quoted(name)} names the workspace itself, and is no directory`);
    }
    this.#checkPlace(path, type);
    if (type === "symlink") return { path: path.text, type, target: targetOf(header, path) };
    // Set-user-id and its relatives are never set on a guest's files.
    if (type === "directory") return { path: path.text, type, mode: mode & 0o777 };
    return { path: path.text, type, mode: mode & 0o777, mtimeMs: timeOf(header.mtime) };
  }

  /** Takes one that was checked. */
  add(entry: SnapshotEntry): void {
    this.#entries.set(entry.path, entry);
    this.#implied.delete(entry.path);
    if (entry.type !== "file") return;
    this.files++;
    this.bytes += entry.size;
  }

  sorted(): SnapshotEntry[] {
    return [...this.#entries.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  #checkPlace({ text, components }: RelativePath, type: SnapshotEntry["type"]): void {
    if (components.length >= TREE_MAX_DEPTH) {
      throw archiveInvalid(`${quoted(text)} is more than ${TREE_MAX_DEPTH - 1} directories deep`);
    }
    if (isReserved(text))
      throw archiveInvalid(`${quoted(text)} has a name that Skerry gives to its own files`);
    if (this.#entries.has(text) && !(type === "directory" && this.#implied.has(text))) {
      throw archiveInvalid(`${quoted(text)} is in it twice, or something is beneath it`);
    }
    for (let depth = 1; depth < components.length; depth++) {
      const path = components.slice(0, depth).join("/");
      const above = this.#entries.get(path);
      if (above === undefined) {
        this.#entries.set(path, { path, type: "directory", mode: 0o755 });
        this.#implied.add(path);
      } else if (above.type !== "directory") {
        throw archiveInvalid(`${quoted(text)} is beneath ${quoted(path)}, which is no directory`);
      }
    }
    const { maxFiles } = this.limits;
    if (this.#entries.size + (this.#entries.has(text) ? 0 : 1) > maxFiles) throw tooMany(maxFiles);
  }
}

function typeOf({ type, pax, size }: TarHeader, name: string): SnapshotEntry["type"] {
  if (Object.keys(pax ?? {}).some((key) => key.startsWith("GNU.sparse"))) {
    throw archiveInvalid(`${quoted(name)} is a sparse file of an archive`);
  }
  // As old programs wrote directories.
  if (type === "file") return name.endsWith("/") && size === 0 ? "directory" : refuseSlash(name);
  if (type === "directory" || type === "symlink") return type;
  const known = type === null ? undefined : TYPES[type];
  throw archiveInvalid(`${quoted(name)} is ${known ?? "of a kind that is not known"}`);
}

function refuseSlash(name: string): "file" {
  if (!name.endsWith("/")) return "file";
  throw archiveInvalid(`${quoted(name)} has the name of a directory, and content`);
}

/** What a pax header says is UTF-8; anything else came as bytes. */
function nameOf(name: string, pax: string | undefined): string {
  if (pax !== undefined && pax !== "") return pax;
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(Buffer.from(name, "latin1"));
  } catch (error) {
    throw archiveInvalid(`${quoted(name)} is a name that is not UTF-8`, error);
  }
}

function targetOf({ linkname, pax }: TarHeader, { text, components }: RelativePath): string {
  const target = nameOf(linkname ?? "", pax?.["linkpath"]);
  if (target.includes("\0") || /\p{Cs}/u.test(target) || Buffer.byteLength(target) >= MAX_PATH_BYTES) {
    throw archiveInvalid(`${quoted(text)} is a link with an invalid target`);
  }
  if (staysInside(components.length - 1, target)) return target;
  throw new PathTraversalError(
    `The archive is refused: ${quoted(text)} is a link that leaves the workspace`,
    {
      hint: "Only relative links to something inside are taken, with .. at their start only.",
    },
  );
}

function timeOf(mtime: Date): number {
  const ms = mtime.getTime();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), LATEST_MS);
}

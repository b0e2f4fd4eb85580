import { Readable } from "node:stream";
import type { OpenSnapshot } from "./open-snapshot.js";
import type { SnapshotEntry } from "./snapshot.js";
import type { HeaderArgument, Pack } from "./tar-stream.js";
import { feed, loadTar } from "./tar-stream.js";

const END_OF_ARCHIVE = Buffer.alloc(1024);
/** What the header of an archive has room for, and every program reads. */
const LATEST_MS = (2 ** 31 - 1) * 1000;
/** The packer takes a mode of nothing for one that was left out. */
const REGULAR = 0o100000;

/** A snapshot as an uncompressed tar. It is opened with the first read, and closed at the end or when it is destroyed. */
export function exportArchive(open: () => Promise<OpenSnapshot>): Readable {
  return Readable.from(archiveOf(open), { objectMode: false });
}

async function* archiveOf(open: () => Promise<OpenSnapshot>): AsyncGenerator<Uint8Array> {
  const { pack } = await loadTar();
  const snapshot = await open();
  try {
    for await (const entry of snapshot.entries()) {
      const content = entry.type === "file" ? snapshot.content(entry) : undefined;
      try {
        yield* packed(pack(), headerOf(entry), content);
      } finally {
        content?.destroy();
      }
    }
    yield END_OF_ARCHIVE;
  } finally {
    await snapshot.close();
  }
}

function headerOf(entry: SnapshotEntry): HeaderArgument {
  const { path: name, type } = entry;
  if (type === "symlink") return { name, type, linkname: entry.target, mode: 0o777, mtime: new Date(0) };
  if (type === "directory") return { name, type, mode: entry.mode | REGULAR, mtime: new Date(0) };
  const mtime = new Date(Math.min(Math.max(entry.mtimeMs, 0), LATEST_MS));
  return { name, type, mode: entry.mode | REGULAR, size: entry.size, mtime };
}

/** One entry, a pack of its own: entries without content know no backpressure, and would fill memory. */
async function* packed(
  pack: Pack,
  header: HeaderArgument,
  content: Readable | undefined,
): AsyncGenerator<Uint8Array> {
  const feeding = feed(content ?? nothing(), pack.entry(header)).catch((error: Error) => pack.destroy(error));
  pack.finalize();
  try {
    let held: Uint8Array | undefined;
    for await (const chunk of pack as AsyncIterable<Uint8Array>) {
      if (held !== undefined) yield held;
      held = chunk;
    }
    // The last one says that an archive ends here.
    await feeding;
  } finally {
    pack.destroy();
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

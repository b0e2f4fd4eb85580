import type { Readable } from "node:stream";
import { SandboxError } from "../../../kit/errors.js";
import { archiveBytes, archiveInvalid } from "./archive-bytes.js";
import { ArchiveEntries } from "./archive-entries.js";
import type { SnapshotProgress } from "./keep-tree.js";
import { assertWanted, type SnapshotLimits } from "./snapshot.js";
import type { SnapshotContents } from "./snapshot-store.js";
import type { Stage } from "./stage.js";
import { type Extract, feed, loadTar } from "./tar-stream.js";

export interface ImportOptions {
  readonly limits: SnapshotLimits;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: SnapshotProgress | undefined;
}

/**
 * Reads a tar as an upload is read: only files, directories and links that stay inside, nothing twice, and no more than
 * may be kept, counted as it arrives. The source is destroyed when it is not read to its end.
 */
export async function importArchive(
  source: Readable,
  stage: Stage,
  options: ImportOptions,
): Promise<SnapshotContents> {
  const { signal } = options;
  let extract: Extract | undefined;
  const onAbort = () => extract?.destroy(new SandboxError("CANCELLED", "The import was cancelled"));
  signal?.addEventListener("abort", onAbort, { once: true });
  try {
    const tar = await loadTar();
    assertWanted(signal);
    // Bytes as they are: what is not UTF-8 is refused, not changed.
    extract = tar.extract({ filenameEncoding: "latin1" });
    return await readEntries(source, extract, stage, options);
  } finally {
    signal?.removeEventListener("abort", onAbort);
    extract?.destroy();
    source.destroy();
  }
}

async function readEntries(
  source: Readable,
  extract: Extract,
  stage: Stage,
  { limits, onProgress }: ImportOptions,
): Promise<SnapshotContents> {
  const progress = { sinceEntry: 0 };
  const found = new ArchiveEntries(limits);
  const feeding = feed(archiveBytes(source, progress), extract);
  let sourceFailure: unknown;
  feeding.catch((error: unknown) => {
    sourceFailure = error;
    extract.destroy(error as Error);
  });
  try {
    for await (const entry of extract) {
      progress.sinceEntry = 0;
      const checked = found.check(entry.header);
      if (checked?.type === "file") {
        const content = await stage.keep(entry.header.size === 0 ? nothing() : counted(entry, progress));
        found.add({ ...checked, ...content });
        onProgress?.({ files: found.files, bytes: found.bytes });
      } else if (checked !== undefined) found.add(checked);
    }
    await feeding;
    return { entries: found.sorted(), skipped: 0 };
  } catch (error) {
    throw error === sourceFailure ? error : asArchiveError(error);
  }
}

async function* counted(
  content: AsyncIterable<Uint8Array>,
  progress: { sinceEntry: number },
): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    progress.sinceEntry = 0;
    yield chunk;
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

/** The parser's own complaints are about the archive; those of the disk stay what they are. */
function asArchiveError(error: unknown): unknown {
  if (error instanceof SandboxError || !(error instanceof Error)) return error;
  if (error.constructor !== Error || "code" in error) return error;
  return archiveInvalid(`it cannot be read (${error.message.split(".")[0]})`, error);
}

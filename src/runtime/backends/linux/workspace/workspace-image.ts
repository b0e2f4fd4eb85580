import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  closeSync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { SandboxError, systemCode } from "../../../../kit/errors.js";
import { unlessMissing } from "../../../../kit/if-missing.js";
import type { Limits } from "../../backend.js";
import { findMke2fs, type HostFacts } from "../host-facts.js";

const run = promisify(execFile);

export interface ImageSize {
  readonly sizeMb: number;
  readonly inodes: number;
}

/** The few blocks of an empty file system that are not zero. */
interface Template {
  readonly bytes: number;
  readonly extents: readonly { readonly offset: number; readonly data: Buffer }[];
}

const templates = new Map<string, Promise<Template>>();

/** What it takes to make images. */
export interface ImageTools {
  readonly mke2fs: string;
  readonly guest: string;
  readonly cacheDir: string;
}

/** Undefined: this host cannot mount images. */
export function findImageTools(
  { canMountImages }: HostFacts,
  stateDir: string,
  guest: () => string,
): ImageTools | undefined {
  const mke2fs = canMountImages ? findMke2fs() : undefined;
  if (mke2fs === undefined) return undefined;
  return { mke2fs, guest: guest(), cacheDir: join(stateDir, "templates") };
}

/** An inode takes this much of the image; it is added, so that the limit is what files can use. */
const INODE_BYTES = 256;
export const DEFAULT_SIZE: ImageSize = { sizeMb: 1024, inodes: 100_000 };

function imageKb({ sizeMb, inodes }: ImageSize): number {
  return Math.floor((sizeMb * 1024 * 1024 + inodes * INODE_BYTES) / 4096) * 4;
}

/** True when these limits ask for less than an image of so many bytes holds. */
export function isSmaller({ workspaceMb, workspaceInodes }: Limits, bytes: number): boolean {
  if (workspaceMb === undefined) return false;
  return imageKb({ sizeMb: workspaceMb, inodes: workspaceInodes ?? DEFAULT_SIZE.inodes }) * 1024 < bytes;
}

/**
 * Makes an empty file system of this size in a new, sparse file: a workspace that the kernel itself keeps within
 * its limits. The file system is made once per size; each image after that is a few writes.
 */
export async function createWorkspaceImage(path: string, size: ImageSize, tools: ImageTools): Promise<void> {
  const key = join(tools.cacheDir, `${size.sizeMb}-${size.inodes}`);
  let template = templates.get(key);
  if (template === undefined) {
    template = loadTemplate(key, size, tools);
    templates.set(key, template);
    template.catch(() => templates.delete(key));
  }
  const { bytes, extents } = await template;
  // Under its name only when it is whole: another process may be waiting to mount it.
  const unfinished = `${path}.${randomBytes(6).toString("hex")}`;
  const fd = openSync(unfinished, "wx", 0o600);
  try {
    ftruncateSync(fd, bytes);
    for (const { offset, data } of extents) writeSync(fd, data, 0, data.length, offset);
    linkSync(unfinished, path);
  } catch (error) {
    if (systemCode(error) !== "ENOSPC") throw error;
    throw new SandboxError("DISK_FULL", "There is no room for a new workspace", { cause: error });
  } finally {
    closeSync(fd);
    rmSync(unfinished, { force: true });
  }
}

async function loadTemplate(key: string, size: ImageSize, tools: ImageTools): Promise<Template> {
  return readTemplate(key) ?? (await makeTemplate(key, size, tools));
}

async function makeTemplate(
  key: string,
  { sizeMb, inodes }: ImageSize,
  { mke2fs, guest, cacheDir }: ImageTools,
): Promise<Template> {
  mkdirSync(cacheDir, { recursive: true, mode: 0o700 });
  const image = join(cacheDir, `.new-${randomBytes(6).toString("hex")}`);
  const totalKb = imageKb({ sizeMb, inodes });
  // No journal: nothing here outlives a crash of the kernel. No reserve for root. Tables are zeroed when used.
  const features = ["-O", "^has_journal,^resize_inode,^metadata_csum", "-m", "0", "-b", "4096"];
  const layout = ["-N", String(inodes), "-E", "lazy_itable_init=1,nodiscard,assume_storage_prezeroed=1"];
  try {
    await run(mke2fs, ["-q", "-F", "-t", "ext4", ...features, ...layout, image, `${totalKb}k`], {
      env: {},
    });
    const { stdout } = await run(guest, ["--extents", image], { env: {} });
    const template = readExtents(image, stdout, totalKb * 1024);
    writeTemplate(key, template);
    return template;
  } catch (error) {
    throw new SandboxError(
      "LIMIT_UNENFORCEABLE",
      `A workspace of ${sizeMb} MB and ${inodes} files cannot be made`,
      {
        hint: "Choose another limits.workspace or limits.workspaceInodes.",
        cause: error,
      },
    );
  } finally {
    rmSync(image, { force: true });
  }
}

function readExtents(image: string, list: string, bytes: number): Template {
  const fd = openSync(image, "r");
  try {
    const extents = list
      .trim()
      .split("\n")
      .map((line) => {
        const [offset, length] = line.split(" ").map(Number) as [number, number];
        const data = Buffer.alloc(length);
        readSync(fd, data, 0, length, offset);
        return { offset, data };
      })
      .flatMap(withoutZeroBlocks);
    return { bytes, extents };
  } finally {
    closeSync(fd);
  }
}

const BLOCK_BYTES = 4096;
const ZERO_BLOCK = Buffer.alloc(BLOCK_BYTES);

/** Preallocated blocks count as data; only what differs from a hole is worth writing. */
function withoutZeroBlocks(extent: { offset: number; data: Buffer }): { offset: number; data: Buffer }[] {
  const kept: { offset: number; data: Buffer }[] = [];
  for (let at = 0; at < extent.data.length; at += BLOCK_BYTES) {
    const block = extent.data.subarray(at, at + BLOCK_BYTES);
    if (block.equals(ZERO_BLOCK.subarray(0, block.length))) continue;
    const last = kept.at(-1);
    const offset = extent.offset + at;
    if (last !== undefined && last.offset + last.data.length === offset)
      last.data = Buffer.concat([last.data, block]);
    else kept.push({ offset, data: Buffer.from(block) });
  }
  return kept;
}

function writeTemplate(key: string, template: Template): void {
  const index = template.extents.map(({ offset, data }) => [offset, data.length]);
  const head = Buffer.from(`${JSON.stringify({ bytes: template.bytes, index })}\n`);
  const temporary = `${key}.${randomBytes(6).toString("hex")}`;
  writeFileSync(temporary, Buffer.concat([head, ...template.extents.map(({ data }) => data)]), {
    mode: 0o600,
  });
  renameSync(temporary, key);
}

function readTemplate(key: string): Template | undefined {
  const content = unlessMissing(undefined, () => readFileSync(key));
  if (content === undefined) return undefined;
  const lineEnd = content.indexOf(10);
  const { bytes, index } = JSON.parse(content.toString("utf8", 0, lineEnd)) as {
    bytes: number;
    index: [number, number][];
  };
  let at = lineEnd + 1;
  const extents = index.map(([offset, length]) => {
    const data = content.subarray(at, at + length);
    at += length;
    return { offset, data };
  });
  return { bytes, extents };
}

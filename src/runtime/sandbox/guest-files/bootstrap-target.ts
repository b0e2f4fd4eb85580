import type { BootstrapTarget, Copy, RelativePath } from "../../workspace/index.js";
import { linkError, openRegularFile, readInnerLink } from "../../workspace/index.js";
import { scriptFailure } from "./failures.js";
import { type Inside, runInside } from "./run-inside.js";
import { LINK_ALL, MAKE_ALL } from "./scripts.js";
import { readDescriptor, sendFile } from "./transfer.js";

/** A command's arguments and environment go in one frame of 256 KiB. */
const ARGUMENT_BYTES = 64 * 1024;
const FILES_AT_ONCE = 8;
const WORKSPACE: RelativePath = { text: "", components: [] };

/**
 * Fills a workspace through the guest. Nothing of the session has run in it, so only links of our own making could
 * be in the way. Modification times are those of the copy.
 */
export function createRunnerTarget(inside: Inside, timeoutMs: number): BootstrapTarget {
  const { runner, guestWorkspace } = inside;
  const planted = new Set<string>();

  const refuseLinks = ({ components }: RelativePath, depth: number) => {
    for (let count = 1; count <= depth; count++) {
      const path = components.slice(0, count).join("/");
      if (planted.has(path)) throw linkError(path);
    }
  };
  const run = async (script: string, argument: readonly string[]) => {
    const end = await runInside(inside, { script, arguments: [guestWorkspace, ...argument], timeoutMs });
    if (end.exitCode !== 0) throw scriptFailure(end, WORKSPACE);
  };
  const copyFile = async ({ from, to }: Copy) => {
    refuseLinks(to, to.components.length - 1);
    const { fd, stat } = openRegularFile(from.fd, from.path);
    const content = readDescriptor(fd);
    try {
      const mode = stat.mode & 0o777;
      await sendFile(runner, `${guestWorkspace}/${to.text}`, content, {
        shown: to.text,
        mode,
        idleMs: timeoutMs,
      });
    } finally {
      // Also when it was not read.
      content.destroy();
    }
    planted.delete(to.text);
  };

  return {
    async makeDirectories(paths) {
      for (const path of paths) refuseLinks(path, path.components.length);
      for (const batch of batches(paths.map(({ text }) => [`./${text}`]))) await run(MAKE_ALL, batch);
    },
    async copyFiles(copies) {
      for (let at = 0; at < copies.length; at += FILES_AT_ONCE) {
        await Promise.all(copies.slice(at, at + FILES_AT_ONCE).map(copyFile));
      }
    },
    async copyLinks(copies) {
      for (const { to } of copies) refuseLinks(to, to.components.length - 1);
      const pairs = copies.map(({ from, to }) => [readInnerLink(from), `./${to.text}`]);
      for (const batch of batches(pairs)) await run(LINK_ALL, batch);
      for (const { to } of copies) planted.add(to.text);
    },
  };
}

/** Groups of arguments that belong together, in commands that are not too long. */
export function* batches(groups: readonly (readonly string[])[]): Generator<string[]> {
  let batch: string[] = [];
  let bytes = 0;
  for (const group of groups) {
    const length = group.reduce((sum, each) => sum + Buffer.byteLength(each) + 8, 0);
    if (batch.length > 0 && bytes + length > ARGUMENT_BYTES) {
      yield batch;
      batch = [];
      bytes = 0;
    }
    batch.push(...group);
    bytes += length;
  }
  if (batch.length > 0) yield batch;
}

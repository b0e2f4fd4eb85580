import { forEachParallel } from "../../../kit/parallel.js";
import type { HostTree } from "../../workspace/index.js";
import type { GuestTree } from "../guest-files/guest-tree.js";
import { Budget } from "./budget.js";
import type { SyncCounter } from "./sync-counter.js";
import type { Node } from "./tree.js";

/** Sends files of this host into the sandbox, as they are read. */
export async function pushFiles(
  host: HostTree,
  guest: GuestTree,
  files: readonly Node[],
  counter: SyncCounter,
  timeoutMs: number,
): Promise<void> {
  const unlimited = { maxBytes: Number.POSITIVE_INFINITY, maxEntries: Number.POSITIVE_INFINITY };
  const clock = new Budget(unlimited, { bytes: 0, entries: 0 }, timeoutMs);
  await forEachParallel(files, async (node) => {
    try {
      clock.assertTime();
      const content = host.read(node.path);
      try {
        await guest.write(node, content);
      } finally {
        // Also when it was not read.
        content.destroy();
      }
      counter.copied++;
      counter.bytes += node.size;
    } catch (error) {
      counter.fail(node.path, error);
    }
  });
}

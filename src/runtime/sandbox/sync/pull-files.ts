import { SandboxError } from "../../../kit/errors.js";
import { forEachParallel } from "../../../kit/parallel.js";
import type { HostTree, IncomingFile } from "../../workspace/index.js";
import type { GuestTree } from "../guest-files/guest-tree.js";
import type { Budget } from "./budget.js";
import type { SyncCounter } from "./sync-counter.js";
import { isUntouched, type Node, type SyncPlan } from "./tree.js";

/** As many are checked with one command, and wait for that beside their targets. */
const BATCH_FILES = 64;
const ATTEMPTS = 3;

interface PullContext {
  readonly budget: Budget;
  readonly counter: SyncCounter;
  /** There is no later sync: a file that does not stop changing is taken as it is. */
  readonly last: boolean;
}

/**
 * Brings files out of the sandbox. Each is read to its end beside its target, and takes its place when it is still what
 * was listed: a process that dies on the way leaves the old file or the new one. Resolves to what was taken.
 */
export async function pullFiles(
  guest: GuestTree,
  host: HostTree,
  files: SyncPlan["copy"],
  context: PullContext,
): Promise<Map<string, Node>> {
  const taken = new Map<string, Node>();
  let todo = files;
  for (let attempt = 1; attempt <= ATTEMPTS && todo.length > 0; attempt++) {
    const again: SyncPlan["copy"][number][] = [];
    for (let at = 0; at < todo.length; at += BATCH_FILES) {
      const batch = todo.slice(at, at + BATCH_FILES);
      again.push(
        ...(await pullBatch(guest, host, batch, context, context.last && attempt === ATTEMPTS, taken)),
      );
    }
    todo = again;
  }
  for (const { from } of todo) {
    context.counter.fail(from.path, new SandboxError("FILE_FAILED", "It changed while it was read"));
  }
  return taken;
}

/** Resolves to what changed meanwhile, with what it is now. */
async function pullBatch(
  guest: GuestTree,
  host: HostTree,
  batch: SyncPlan["copy"],
  { budget, counter }: PullContext,
  takesAny: boolean,
  taken: Map<string, Node>,
): Promise<SyncPlan["copy"][number][]> {
  const arrived = new Map<string, { readonly file: IncomingFile; readonly to: Node | undefined }>();
  const again: SyncPlan["copy"][number][] = [];
  const drop = (path: string) => {
    const one = arrived.get(path);
    if (one === undefined) return;
    arrived.delete(path);
    one.file.discard();
    budget.giveBack(one.file.reserved - (one.to?.size ?? 0));
    if (one.to === undefined) budget.giveBackEntry();
  };
  try {
    await forEachParallel(batch, async ({ from, to }) => {
      try {
        if (to === undefined) budget.spendEntry();
        const file = host.write(from.path, from.mode);
        // What it replaces makes room for it.
        budget.giveBack(to?.size ?? 0);
        arrived.set(from.path, { file, to });
        // What is said to come, at once, so that files at the same time do not take each other's room.
        budget.spend(from.size);
        file.reserved = from.size;
        await receive(guest, from.path, file, budget);
      } catch (error) {
        drop(from.path);
        counter.fail(from.path, error);
      }
    });
    const now = await guest.at([...arrived.keys()]);
    for (const { from, to } of batch) {
      const one = arrived.get(from.path);
      if (one === undefined) continue;
      const current = now.get(from.path);
      const isComplete =
        current !== undefined && one.file.received === from.size && isUntouched(current, from);
      if (!isComplete && !takesAny) {
        drop(from.path);
        // What is gone by now is the next copy's matter.
        if (current !== undefined) again.push({ from: current, to });
        else counter.fail(from.path, new SandboxError("FILE_NOT_FOUND", "It was removed while it was read"));
        continue;
      }
      const node = isComplete ? from : { ...(current ?? from), size: one.file.received };
      arrived.delete(from.path);
      counter.attempt(from.path, () => {
        one.file.commit(node.mtimeNs);
        taken.set(from.path, node);
        counter.copied++;
        counter.bytes += one.file.received;
        if (!isComplete) throw new SandboxError("FILE_FAILED", "It was taken while it changed");
      });
    }
    return again;
  } finally {
    for (const path of [...arrived.keys()]) drop(path);
  }
}

async function receive(guest: GuestTree, path: string, file: IncomingFile, budget: Budget): Promise<void> {
  const stream = guest.read(path, Number.MAX_SAFE_INTEGER);
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      file.received += chunk.length;
      const more = Math.max(0, file.received - file.reserved);
      budget.spend(more);
      file.reserved += more;
      await file.take(chunk);
    }
  } finally {
    stream.destroy();
  }
}

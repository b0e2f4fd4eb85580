import type { SnapshotInfo } from "../../runtime/workspace/index.js";
import type { Services } from "../services.js";
import type { Json, SessionRecord } from "../store/index.js";

/** Brings the store's list of a session's snapshots up to date with its files. */
export async function indexSnapshots(
  { store, manager }: Pick<Services, "store" | "manager">,
  { org, id: session }: Pick<SessionRecord, "org" | "id">,
): Promise<readonly SnapshotInfo[]> {
  const there = manager.hasSession(session) ? await manager.snapshots(session).list() : [];
  const listed = new Set<string>();
  for (let cursor: string | undefined; ; ) {
    const page = await store.snapshots.list(org, { session, limit: 1000, cursor });
    for (const { id } of page.items) listed.add(id);
    if (page.next === undefined) break;
    cursor = page.next;
  }
  for (const { id, name, createdAt, files, bytes } of there) {
    if (listed.delete(id)) continue;
    const info: Json = { name, files, bytes };
    await store.snapshots.put(org, { id, session, createdAt: createdAt.getTime(), info });
  }
  for (const id of listed) await store.snapshots.remove(org, session, id);
  return there;
}

import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { failsWith } from "../../../../test/setup/fails-with.js";
import {
  assertSound,
  bringBack,
  keep,
  kept,
  SnapshotWorkspace,
  useSnapshotWorkspace,
} from "../../../../test/setup/snapshot-workspace.js";
import type { SnapshotEntry } from "./snapshot.js";

useSnapshotWorkspace();

const put = (path: string, text: string) => writeFileSync(join(kept.root, path), text);
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");
const blobOf = (text: string) => join(kept.directory, "blobs", sha256(text).slice(0, 2), sha256(text));

describe("a session's snapshots", () => {
  it("are listed, the newest first, and have each content once", async () => {
    const workspace = await kept.directly();
    const store = kept.store();
    expect(await store.list()).toEqual([]);
    put("a", "one");
    put("b", "one");
    const first = await keep(store, workspace);
    put("b", "another");
    const second = await keep(store, workspace, { name: "later" });
    expect([first.storedBytes, second.storedBytes]).toEqual([3, 7]);
    expect((await store.list()).map(({ id }) => id).sort()).toEqual([first.id, second.id].sort());
    expect((await kept.store().list()).find(({ id }) => id === second.id)).toEqual(second);
    expect(kept.onDisk()).toEqual({ blobs: [sha256("one"), sha256("another")].sort(), others: [] });
  });

  it("can be read by their owner only", async () => {
    put("a", "one");
    await keep(kept.store(), await kept.directly());
    const modes = readdirSync(kept.directory, { recursive: true, encoding: "utf8" }).flatMap((path) => {
      const stat = statSync(join(kept.directory, path));
      return path.startsWith("writer") || (stat.mode & 0o077) === 0 ? [] : [path];
    });
    expect([modes, statSync(kept.directory).mode & 0o777]).toEqual([[], 0o700]);
  });

  it("take along what only they have when they are deleted", async () => {
    const workspace = await kept.directly();
    const store = kept.store();
    put("a", "shared");
    put("b", "old");
    const first = await keep(store, workspace);
    put("b", "new");
    const second = await keep(store, workspace);
    expect(await store.remove(first.id)).toBe(true);
    expect(kept.onDisk()).toEqual({ blobs: [sha256("shared"), sha256("new")].sort(), others: [] });
    expect(await bringBack(store, workspace, second.id)).toMatchObject({ unchanged: 2 });
    expect([await store.remove(first.id), await store.remove(second.id), await store.list()]).toEqual([
      false,
      true,
      [],
    ]);
    expect(kept.onDisk()).toEqual({ blobs: [], others: [] });
  });

  it.each(["../x", "snap-0000000000000000", "", "snap-0000000000000000/../x", "a\0b", "\u001b[31m"])(
    "are not found by the id %j",
    async (id) => {
      put("a", "1");
      const store = kept.store();
      await keep(store, await kept.directly());
      writeFileSync(join(kept.base, "x.json"), "{}");
      writeFileSync(join(kept.base, "x.entries"), "");
      await expect(store.open(id)).rejects.toThrow(failsWith("SNAPSHOT_NOT_FOUND"));
      await expect(store.find(id)).rejects.toThrow(failsWith("SNAPSHOT_NOT_FOUND"));
      expect(await store.remove(id)).toBe(false);
      expect(existsSync(join(kept.base, "x.json"))).toBe(true);
      const { message } = await store.find(id).then(
        () => new Error(),
        (error: Error) => error,
      );
      expect(message).not.toContain("\u001b");
    },
  );

  it("are not found by another session's id", async () => {
    const other = new SnapshotWorkspace();
    try {
      writeFileSync(join(other.root, "secret"), "theirs");
      const { id } = await keep(other.store(), await other.directly());
      put("a", "mine");
      await keep(kept.store(), await kept.directly());
      await expect(bringBack(kept.store(), await kept.directly(), id)).rejects.toThrow(
        failsWith("SNAPSHOT_NOT_FOUND", `This session has no snapshot "${id}"`),
      );
      expect(await kept.store().remove(id)).toBe(false);
      expect(await other.store().list()).toHaveLength(1);
    } finally {
      await other.stop();
    }
  });

  it.each([["a\nb"], [""], ["x".repeat(201)], [5]])("are not called %j", async (name) => {
    await expect(keep(kept.store(), await kept.directly(), { name: name as string })).rejects.toThrow(
      failsWith("INVALID_ARGUMENT"),
    );
    expect(existsSync(kept.directory)).toBe(false);
  });

  it("stay readable while they are deleted, and go when the last reader has closed them", async () => {
    put("a", "one");
    const store = kept.store();
    const { id } = await keep(store, await kept.directly());
    const [one, other] = [await store.open(id), await kept.store().open(id)];
    expect(await kept.store().remove(id)).toBe(true);
    expect(await store.list()).toEqual([]);
    await one.close();
    const entries: SnapshotEntry[] = [];
    for await (const entry of other.entries()) entries.push(entry);
    const [file] = entries;
    expect(file).toMatchObject({ path: "a", type: "file", size: 3, sha256: sha256("one") });
    expect((await buffer(other.content({ sha256: sha256("one"), size: 3 }))).toString()).toBe("one");
    await other.close();
    expect(kept.onDisk()).toEqual({ blobs: [], others: [] });
  });

  it("keep within what all of them may have together", async () => {
    const workspace = await kept.directly();
    const store = kept.store({ maxStoredBytes: 10 });
    put("a", "12345678");
    const { id } = await keep(store, workspace);
    await keep(store, workspace);
    put("a", "abcdefgh");
    await expect(keep(store, workspace)).rejects.toThrow(
      failsWith("DISK_FULL", "A session's snapshots may have 10 bytes together"),
    );
    expect(kept.onDisk()).toEqual({ blobs: [sha256("12345678")], others: [] });
    for (const each of await store.list()) await store.remove(each.id);
    expect((await keep(store, workspace)).id).not.toBe(id);
  });

  it("are whole when many are made, read and deleted at once", async () => {
    const stores = [kept.store(), kept.store(), kept.store()];
    const workspace = await kept.directly();
    for (let index = 0; index < 8; index++) put(`f${index}`, `content ${index}`);
    const ids: string[] = [];
    const work = async (index: number) => {
      const store = stores[index % stores.length]!;
      put(`f${index % 8}`, `content ${index % 11}`);
      const { id } = await keep(store, workspace);
      ids.push(id);
      if (index % 3 === 0) await stores[(index + 1) % stores.length]!.remove(ids[index % ids.length]!);
      if (index % 4 === 0) await (await store.open(id).catch(() => undefined))?.close();
    };
    await Promise.all(Array.from({ length: 40 }, (_, index) => work(index)));
    await assertSound(kept);
  });

  it("that are temporary are not listed, but can be read and deleted", async () => {
    put("a", "1");
    const store = kept.store();
    const { id } = await keep(store, await kept.directly(), { isTemporary: true });
    expect([await store.list(), await store.tidy(), (await store.find(id)).id]).toEqual([[], 0, id]);
    expect([await store.remove(id), kept.onDisk()]).toEqual([true, { blobs: [], others: [] }]);
  });

  it("do not bring a deleted session back", async () => {
    put("a", "1");
    const store = kept.store();
    const workspace = await kept.directly();
    const failure = await store
      .add({ sessionId: "test" }, async (stage) => {
        const content = await stage.keep(
          (async function* () {
            yield Buffer.from("1");
          })(),
        );
        renameSync(kept.base, `${kept.base}-gone`);
        return { entries: [{ path: "a", type: "file", mode: 0o644, mtimeMs: 0, ...content }], skipped: 0 };
      })
      .catch((error: unknown) => error);
    expect(failure).toEqual(failsWith("FILE_FAILED"));
    expect(String((failure as Error).message)).not.toContain(kept.base);
    expect(existsSync(kept.base)).toBe(false);
    await expect(keep(store, workspace)).rejects.toThrow(failsWith("FILE_FAILED"));
    expect([existsSync(kept.base), await store.list()]).toEqual([false, []]);
    rmSync(`${kept.base}-gone`, { recursive: true });
    mkdirSync(kept.base);
  });
});

describe("a snapshot that is damaged", () => {
  it("is not brought back, and its content is stored again with the next one that has it", async () => {
    const workspace = await kept.directly();
    const store = kept.store();
    put("a", "content");
    const { id } = await keep(store, workspace);
    const damaged = failsWith("FILE_FAILED", `The snapshot ${id} is damaged`);
    put("a", "changed");
    writeFileSync(blobOf("content"), "CONTENT");
    await expect(bringBack(store, workspace, id)).rejects.toThrow(damaged);
    truncateSync(blobOf("content"), 0);
    await expect(bringBack(store, workspace, id)).rejects.toThrow(damaged);
    expect(readFileSync(join(kept.root, "a"), "utf8")).toBe("changed");
    put("a", "content");
    expect((await keep(store, workspace)).storedBytes).toBe(7);
    put("a", "changed");
    expect(await bringBack(store, workspace, id)).toMatchObject({ written: 1 });
    expect(readFileSync(join(kept.root, "a"), "utf8")).toBe("content");
  });

  it("hides no other, takes nothing of others along, and can be deleted", async () => {
    const workspace = await kept.directly();
    const store = kept.store();
    put("a", "one");
    const bad = await keep(store, workspace);
    put("a", "two");
    const good = await keep(store, workspace);
    put("a", "three");
    const third = await keep(store, workspace);
    writeFileSync(join(kept.directory, `${bad.id}.entries`), '{"path":"a","type":"fi');
    expect(await store.remove(third.id)).toBe(true);
    // The damaged one's content is unknown.
    expect(kept.onDisk().blobs).toHaveLength(3);
    await expect(bringBack(store, workspace, bad.id)).rejects.toThrow(failsWith("FILE_FAILED"));
    writeFileSync(join(kept.directory, `${bad.id}.json`), "{");
    expect((await store.list()).map(({ id }) => id)).toEqual([good.id]);
    expect(await store.remove(bad.id)).toBe(true);
    expect(await store.tidy()).toBe(1);
    expect(kept.onDisk()).toEqual({ blobs: [sha256("two")], others: [] });
    await assertSound(kept);
  });

  it("in which only the list is left is removed with the next work", async () => {
    const workspace = await kept.directly();
    const store = kept.store();
    put("a", "one");
    const { id } = await keep(store, workspace);
    unlinkSync(join(kept.directory, `${id}.json`));
    put("a", "two");
    await keep(store, workspace);
    expect(kept.onDisk()).toEqual({ blobs: [sha256("two")], others: [] });
    await assertSound(kept);
  });
});

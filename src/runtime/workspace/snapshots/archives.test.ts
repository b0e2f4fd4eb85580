import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { describe, expect, it } from "vitest";
import { failsWith } from "../../../../test/setup/fails-with.js";
import { entriesOf, load } from "../../../../test/setup/snapshot-archives.js";
import {
  bringBack,
  keep,
  kept,
  SnapshotWorkspace,
  useSnapshotWorkspace,
} from "../../../../test/setup/snapshot-workspace.js";
import { contents } from "../../../../test/setup/synced-files.js";
import { waitUntil } from "../../../kit/wait-until.js";
import { exportArchive } from "./export-archive.js";
import { importArchive } from "./import-archive.js";

useSnapshotWorkspace();

const at = (path: string) => join(kept.root, path);

describe("an archive of a snapshot", () => {
  it("is a tar that others read, and the same snapshot when it is imported", async () => {
    mkdirSync(at("dir/empty"), { recursive: true });
    writeFileSync(at("dir/run.sh"), "#!/bin/sh\n");
    chmodSync(at("dir/run.sh"), 0o750);
    utimesSync(at("dir/run.sh"), 1_500_000_000, 1_500_000_000);
    writeFileSync(at("large"), Buffer.alloc(3_000_000, 7));
    writeFileSync(at("closed"), "x", { mode: 0o000 });
    chmodSync(at("closed"), 0o000);
    writeFileSync(at("after 2038"), "");
    utimesSync(at("after 2038"), 2 ** 33, 2 ** 33);
    symlinkSync("../large", at("dir/link"));
    const long = `${"é".repeat(100)}\n${"n".repeat(20)}`;
    mkdirSync(at(`${long}/${long}`), { recursive: true });
    writeFileSync(at(`${long}/${long}/file`), "deep");
    const store = kept.store();
    const workspace = await kept.directly();
    const { id, ...info } = await keep(store, workspace);
    const archive = await buffer(exportArchive(() => store.open(id)));
    const elsewhere = join(kept.base, "elsewhere");
    mkdirSync(elsewhere);
    execFileSync("tar", ["-xpf", "-", "-C", elsewhere], { input: archive });
    expect(contents(elsewhere)).toEqual(contents(kept.root));
    expect(statSync(join(elsewhere, "dir/run.sh")).mtimeMs).toBe(1_500_000_000_000);

    const again = await load(archive);
    expect(again).toEqual({ ...info, id: again.id, createdAt: expect.any(Date), storedBytes: 0 });
    const before = contents(kept.root);
    execFileSync("rm", ["-r", kept.root]);
    mkdirSync(kept.root);
    expect(await bringBack(store, await kept.directly(), again.id)).toMatchObject({ skipped: [] });
    expect(contents(kept.root)).toEqual(before);
    expect(kept.onDisk().others).toEqual([]);
  });

  it("goes from one session into another without growing the host's memory", async () => {
    writeFileSync(at("large"), "start");
    truncateSync(at("large"), 256 * 2 ** 20);
    const other = new SnapshotWorkspace();
    const limits = { maxBytes: 2 ** 30 };
    try {
      const store = kept.store(limits);
      const { id } = await keep(store, await kept.directly());
      const before = process.memoryUsage().rss;
      let peak = 0;
      const watch = setInterval(() => {
        peak = Math.max(peak, process.memoryUsage().rss);
      }, 10);
      const theirs = other.store(limits);
      const archive = exportArchive(() => store.open(id));
      const info = await theirs.add({ sessionId: "other" }, (stage) =>
        importArchive(archive, stage, { limits: theirs.limits }),
      );
      clearInterval(watch);
      expect(info).toMatchObject({ sessionId: "other", files: 1, bytes: 256 * 2 ** 20 });
      expect(peak).toBeGreaterThan(0);
      expect(peak - before).toBeLessThan(128 * 2 ** 20);
    } finally {
      await other.stop();
    }
  });

  it("of nothing is one of nothing", async () => {
    const store = kept.store();
    const { id } = await keep(store, await kept.directly());
    const archive = await buffer(exportArchive(() => store.open(id)));
    expect(archive).toEqual(Buffer.alloc(1024));
    expect(await load(archive)).toMatchObject({ files: 0, bytes: 0 });
  });

  it.each(["gnu", "oldgnu", "pax", "ustar"])("is taken from GNU tar in the format %s", async (format) => {
    const long = format === "ustar" ? "x".repeat(90) : "x".repeat(200);
    mkdirSync(at("a/b"), { recursive: true });
    writeFileSync(at("a/b/f"), "1");
    chmodSync(at("a/b/f"), 0o4755);
    writeFileSync(at(`a/${long}`), "2");
    symlinkSync("b/f", at("a/link"));
    // All of it; then files whose directory is told of only afterwards, or never.
    for (const names of [["."], ["a/b/f", `a/${long}`, "a/link", "--no-recursion", "a"]]) {
      const archive = execFileSync("tar", [`--format=${format}`, "-cf", "-", "-C", kept.root, ...names]);
      const entries = await entriesOf((await load(archive)).id);
      expect(entries.map(({ path, type }) => `${type} ${path}`)).toEqual([
        "directory a",
        "directory a/b",
        "file a/b/f",
        "symlink a/link",
        `file a/${long}`,
      ]);
      expect(entries[2]).toMatchObject({ mode: 0o755, size: 1 });
    }
  });

  it("can be given up while it is read, and before, and keeps nothing", async () => {
    writeFileSync(at("large"), Buffer.alloc(20_000_000, 1));
    const store = kept.store();
    const { id } = await keep(store, await kept.directly());
    const unread = exportArchive(() => store.open(id));
    unread.destroy();
    const stream = exportArchive(() => store.open(id));
    for await (const _ of stream) break;
    await waitUntil(() => readdirSync(kept.directory).every((name) => !name.startsWith(".use-")));
    expect(await store.remove(id)).toBe(true);
    expect(kept.onDisk()).toEqual({ blobs: [], others: [] });
    await expect(buffer(exportArchive(() => store.open(id)))).rejects.toThrow(
      failsWith("SNAPSHOT_NOT_FOUND"),
    );
  });

  it("of a snapshot that is damaged ends with an error", async () => {
    writeFileSync(at("f"), "content");
    const store = kept.store();
    const { id } = await keep(store, await kept.directly());
    const [sha256] = kept.onDisk().blobs;
    writeFileSync(join(kept.directory, "blobs", sha256!.slice(0, 2), sha256!), "CONTENT");
    await expect(buffer(exportArchive(() => store.open(id)))).rejects.toThrow(
      failsWith("FILE_FAILED", `The snapshot ${id} is damaged`),
    );
    await waitUntil(() => kept.onDisk().others.length === 0);
  });
});

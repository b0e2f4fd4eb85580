import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { failsWith } from "../../../../test/setup/fails-with.js";
import { entriesOf } from "../../../../test/setup/snapshot-archives.js";
import { bringBack, keep, kept, useSnapshotWorkspace } from "../../../../test/setup/snapshot-workspace.js";
import { canRace, MARKER, outcomes, startRace, useRaces } from "../../../../test/setup/swap-race.js";
import { AgentWorkspace, type WorkspaceFiles } from "../index.js";

useRaces();
useSnapshotWorkspace();

const treeOf = (directory: string) => readdirSync(directory, { recursive: true }).sort();
const at = (path: string) => join(kept.root, path);
const ANSWERS_PROBE = 'case "$*" in "/ -prune"*) exit 0 ;; esac';
/** A find that says this of the workspace, and is honest about everything else. */
const lyingFind = (listing: string) =>
  `#!/bin/sh\n${ANSWERS_PROBE}\ncase "$*" in *-mindepth*) printf '${listing}' ;; *) exec /usr/bin/find "$@" ;; esac\n`;

/** The workspace as it is, with something that happens between the look at it and the reading of its files. */
function changingAfterLook(workspace: WorkspaceFiles, change: () => void): WorkspaceFiles {
  const { tree } = workspace;
  const look = tree.look.bind(tree);
  tree.look = async (maxEntries) => {
    const seen = await look(maxEntries);
    change();
    return seen;
  };
  return new Proxy(workspace, {
    get: (target, key) => (key === "tree" ? tree : Reflect.get(target, key, target)),
  });
}

describe("a program that swaps a directory for a link to the outside in a tight loop", () => {
  it("never gets what is outside into a snapshot", async (context) => {
    if (!canRace) context.skip("needs gcc");
    const { root, outside, stop } = await startRace("keep");
    writeFileSync(join(outside, "only-outside"), MARKER);
    const workspace = AgentWorkspace.open(root);
    const store = kept.store();
    const secret = createHash("sha256").update(MARKER).digest("hex");
    const counts = await outcomes(async () => {
      const { id } = await keep(store, workspace);
      const entries = await entriesOf(id);
      await store.remove(id);
      const isLeaked = entries.some(
        (entry) => entry.path.includes("only-outside") || (entry.type === "file" && entry.sha256 === secret),
      );
      return isLeaked ? "leaked" : `kept ${entries.filter(({ type }) => type === "file").length} files`;
    });
    await stop();
    workspace.close();
    console.log("snapshots:", Object.fromEntries(counts));
    const known = /^kept [0-4] files$|^FILE_DENIED$/;
    expect([...counts.keys()].filter((outcome) => !known.test(outcome))).toEqual([]);
    // Both sides of the race were met: the test would have noticed a leak.
    expect(counts.size).toBeGreaterThan(1);
  });

  it("never gets a file outside written or removed by a restore", async (context) => {
    if (!canRace) context.skip("needs gcc");
    const { root, outside, stop } = await startRace("restore");
    const before = treeOf(outside);
    const workspace = AgentWorkspace.open(root);
    const store = kept.store();
    for (const path of ["dir/file", "dir/sub/other", "dir/new/deep"]) {
      mkdirSync(join(at(path), ".."), { recursive: true });
      writeFileSync(at(path), "from the snapshot");
    }
    symlinkSync(outside, at("other"));
    const { id } = await keep(store, await kept.directly());
    const counts = await outcomes(async () => {
      await bringBack(store, workspace, id);
      return "done";
    });
    await stop();
    workspace.close();
    console.log("restores:", Object.fromEntries(counts));
    expect([...counts.values()].reduce((sum, count) => sum + count, 0)).toBeGreaterThan(5);
    expect(counts.size).toBeGreaterThan(1);
    expect(treeOf(outside)).toEqual(before);
    expect(readFileSync(join(outside, "file"), "utf8")).toBe(MARKER);
    expect(readFileSync(join(outside, "sub/file"), "utf8")).toBe(MARKER);
  });
});

describe("a program that changes files while a snapshot is taken", () => {
  it("cannot make the host wait for a FIFO in place of a file", async () => {
    writeFileSync(at("file"), "1");
    writeFileSync(at("kept"), "1");
    const workspace = changingAfterLook(await kept.directly(), () => {
      unlinkSync(at("file"));
      execFileSync("mkfifo", [at("file")]);
    });
    const { id } = await keep(kept.store(), workspace);
    expect((await entriesOf(id)).map(({ path }) => path)).toEqual(["kept"]);
  });

  it("cannot make the host wait for a FIFO that the guest calls a file", async () => {
    execFileSync("mkfifo", [at("fifo")]);
    writeFileSync(at("kept"), "1");
    const find = lyingFind("f 644 1 1 1 1\\n./fifo\\0f 644 1 1 1 2\\n./kept\\0");
    const { id } = await keep(kept.store(), await kept.throughGuest({}, { find }));
    expect((await entriesOf(id)).map(({ path }) => path)).toEqual(["kept"]);
  });

  it("cannot make a file grow past the limit, whatever its size was", async () => {
    writeFileSync(at("file"), "1");
    const store = kept.store({ maxBytes: 1_000_000 });
    const growing = changingAfterLook(await kept.directly(), () => truncateSync(at("file"), 15 * 2 ** 40));
    await expect(keep(store, growing)).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    truncateSync(at("file"), 10_000_000);
    const find = lyingFind("f 644 5 1 1 1\\n./file\\0");
    await expect(keep(store, await kept.throughGuest({}, { find }))).rejects.toThrow(
      failsWith("FILE_TOO_LARGE"),
    );
    expect(kept.onDisk()).toEqual({ blobs: [], others: [] });
  });

  it("is taken at what was read: what has gone is left out, with what was in it", async () => {
    mkdirSync(at("dir/sub"), { recursive: true });
    for (const path of ["dir/a", "dir/sub/b", "c"]) writeFileSync(at(path), path);
    const workspace = changingAfterLook(await kept.directly(), () => {
      execFileSync("rm", ["-r", at("dir")]);
      writeFileSync(at("c"), "changed");
    });
    const { id } = await keep(kept.store(), workspace);
    expect((await entriesOf(id)).map(({ path, type }) => `${path} ${type}`)).toEqual([
      "c file",
      "dir directory",
      "dir/sub directory",
    ]);
  });

  it("cannot tell of a file beneath a file", async () => {
    writeFileSync(at("f"), "1");
    const find = lyingFind(
      "f 644 1 1 1 1\\n./f\\0f 644 1 1 1 1\\n./f/g\\0l 777 1 1 1 1\\n./f/l\\0f 644 1 1 1 1\\n./no/f\\0",
    );
    const workspace = await kept.throughGuest({}, { find });
    // It called a file a link, so that the listing cannot be trusted to be complete.
    await expect(keep(kept.store(), workspace)).rejects.toThrow(failsWith("FILE_DENIED"));
  });
});

describe("a large file", () => {
  it("does not grow the host's memory, on the way in or back", async () => {
    writeFileSync(at("large"), "start");
    truncateSync(at("large"), 512 * 2 ** 20);
    const store = kept.store({ maxBytes: 2 ** 30 });
    const workspace = await kept.directly();
    const before = process.memoryUsage().rss;
    let peak = 0;
    const watch = setInterval(() => {
      peak = Math.max(peak, process.memoryUsage().rss);
    }, 10);
    const { id } = await keep(store, workspace);
    unlinkSync(at("large"));
    await bringBack(store, workspace, id);
    clearInterval(watch);
    expect(peak).toBeGreaterThan(0);
    expect(peak - before).toBeLessThan(128 * 2 ** 20);
  });
});

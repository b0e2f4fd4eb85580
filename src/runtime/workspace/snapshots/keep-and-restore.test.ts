import { execFileSync } from "node:child_process";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { failsWith } from "../../../../test/setup/fails-with.js";
import {
  bringBack,
  keep,
  kept,
  SnapshotWorkspace,
  useSnapshotWorkspace,
} from "../../../../test/setup/snapshot-workspace.js";
import { contents } from "../../../../test/setup/synced-files.js";
import type { FileRules, WorkspaceFiles } from "../index.js";

useSnapshotWorkspace();

const at = (path: string) => join(kept.root, path);

type Open = (rules?: FileRules) => Promise<WorkspaceFiles>;
const WAYS: readonly (readonly [string, Open])[] = [
  ["a directory of this host", (rules) => kept.directly(rules)],
  ["the guest", (rules) => kept.throughGuest(rules)],
];

describe.each(WAYS)("a snapshot through %s", (way, open) => {
  const isDirect = way.startsWith("a directory");

  it("keeps files, modes, times, directories and links, and brings all of them back", async () => {
    mkdirSync(at("dir/empty"), { recursive: true });
    writeFileSync(at("dir/run.sh"), "#!/bin/sh");
    chmodSync(at("dir/run.sh"), 0o750);
    utimesSync(at("dir/run.sh"), 1_500_000_000, 1_500_000_000.25);
    writeFileSync(at("same"), "#!/bin/sh");
    writeFileSync(at("nothing"), "");
    writeFileSync(at("line\u2028and\nfeed"), Buffer.alloc(300_000, 7));
    symlinkSync("/etc/passwd", at("dir/absolute"));
    symlinkSync("é", at("dir/link"));
    chmodSync(at("dir/empty"), 0o500);
    const before = contents(kept.root);
    const store = kept.store();
    const workspace = await open();
    const info = await keep(store, workspace, { name: "before" });
    expect(info).toEqual({
      id: expect.stringMatching(/^snap-[0-9a-f]{16}$/),
      name: "before",
      sessionId: "test",
      createdAt: expect.any(Date),
      files: 4,
      bytes: 300_018,
      storedBytes: 300_009,
      skipped: 0,
    });
    const unchanged = await bringBack(store, workspace, info.id);
    expect(unchanged).toEqual({ written: 0, removed: 0, unchanged: 8, skipped: [] });

    rmSync(at("dir"), { recursive: true });
    writeFileSync(at("dir"), "a file now");
    unlinkSync(at("same"));
    mkdirSync(at("same/deep/er"), { recursive: true });
    writeFileSync(at("line\u2028and\nfeed"), Buffer.alloc(300_000, 8));
    chmodSync(at("nothing"), 0o600);
    writeFileSync(at("new"), "");
    const report = await bringBack(store, workspace, info.id);
    // dir, dir/empty, dir/run.sh, both links, same, the one with a line feed, the mode of the empty one.
    expect(report).toEqual({ written: 8, removed: 5, unchanged: 0, skipped: [] });
    expect(contents(kept.root)).toEqual(before);
    expect(statSync(at("dir/run.sh")).mtimeMs).toBe(1_500_000_000_250);
    expect((await bringBack(store, workspace, info.id)).written).toBe(0);
  });

  it("leaves out sockets, FIFOs and names that are not UTF-8, and counts them", async () => {
    execFileSync("mkfifo", [at("fifo")]);
    const server = createServer().listen(at("socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    const strange = Buffer.concat([Buffer.from(`${kept.root}/z`), Buffer.from([0xff])]);
    writeFileSync(strange, "");
    symlinkSync(Buffer.from([0x2e, 0xff]), at("link"));
    writeFileSync(at("program.py"), "a stray file");
    writeFileSync(at("file"), "1");
    const store = kept.store();
    const workspace = await open();
    const info = await keep(store, workspace, { excluded: ["program.py"] });
    expect(info).toMatchObject({ files: 1, bytes: 1, skipped: 4 });
    const { skipped, removed } = await bringBack(store, workspace, info.id);
    expect([skipped, removed]).toEqual([
      [{ path: "z\ufffd", reason: "Its name is not UTF-8, or too long" }],
      4,
    ]);
    expect([lstatSync(strange).isFile(), readdirSync(kept.root).sort()]).toEqual([true, ["file", "z\ufffd"]]);
    await new Promise((resolve) => server.close(resolve));
  });

  it("refuses more than it may have, whatever a file's size is said to be, and stores nothing", async () => {
    const workspace = await open();
    writeFileSync(at("a"), Buffer.alloc(600));
    writeFileSync(at("b"), Buffer.alloc(600));
    await expect(keep(kept.store({ maxBytes: 1000 }), workspace)).rejects.toThrow(
      failsWith("FILE_TOO_LARGE", "The files of a snapshot have at most 1000 bytes together"),
    );
    truncateSync(at("b"), 15 * 2 ** 40);
    await expect(keep(kept.store(), workspace)).rejects.toThrow(
      failsWith("FILE_TOO_LARGE", '"b" is larger than 67108864 bytes'),
    );
    unlinkSync(at("b"));
    for (let index = 0; index < 20; index++) mkdirSync(at(`d${index}`));
    await expect(keep(kept.store({ maxFiles: 20 }), workspace)).rejects.toThrow(
      failsWith("FILE_TOO_LARGE", "A snapshot has at most 20 files, directories and links"),
    );
    expect((await keep(kept.store({ maxFiles: 21, maxBytes: 600 }), workspace)).files).toBe(1);
    mkdirSync(at(Array(70).fill("d").join("/")), { recursive: true });
    await expect(keep(kept.store(), workspace)).rejects.toThrow(
      failsWith("FILE_TOO_LARGE", "The workspace has directories that are more than 63 deep"),
    );
    expect(await kept.store().list()).toHaveLength(1);
    expect(kept.onDisk().others).toEqual([]);
  });

  it("clears what no snapshot could have: too many files, and too deep", async () => {
    writeFileSync(at("file"), "1");
    const store = kept.store({ maxFiles: 100 });
    const workspace = await open();
    const { id } = await keep(store, workspace);
    for (let index = 0; index < 900; index++) writeFileSync(at(`f${index}`), "");
    mkdirSync(at(Array(300).fill("d").join("/")), { recursive: true });
    const report = await bringBack(store, workspace, id);
    expect(report.removed).toBeGreaterThan(900);
    expect(contents(kept.root)).toEqual({ file: "644 MQ==" });
  });

  it("leaves what denyWrite protects as it is, and says what of it differs", async () => {
    mkdirSync(at("app"));
    writeFileSync(at("app/.env"), "KEY=1");
    writeFileSync(at("app/equal.pem"), "1");
    writeFileSync(at("gone.pem"), "1");
    writeFileSync(at("app/code"), "1");
    const store = kept.store();
    const workspace = await open({ denyWrite: [".env", "*.pem"] });
    const { id } = await keep(store, workspace);
    writeFileSync(at("app/.env"), "KEY=2");
    writeFileSync(at("app/code"), "2");
    unlinkSync(at("gone.pem"));
    mkdirSync(at("new/deep"), { recursive: true });
    writeFileSync(at("new/deep/key.pem"), "2");
    writeFileSync(at("new/other"), "2");
    chmodSync(at("new"), 0o700);
    const report = await bringBack(store, workspace, id);
    expect(report).toEqual({
      written: 1,
      removed: 1,
      unchanged: 1,
      skipped: [
        { path: "new", reason: "Something in it is protected by denyWrite" },
        { path: "new/deep", reason: "Something in it is protected by denyWrite" },
        { path: "new/deep/key.pem", reason: "denyWrite protects it" },
        { path: "app/.env", reason: "denyWrite protects it" },
        { path: "gone.pem", reason: "denyWrite protects it" },
      ],
    });
    expect(contents(kept.root)).toMatchObject({
      "app/.env": `644 ${Buffer.from("KEY=2").toString("base64")}`,
      "app/code": "644 MQ==",
      "new/deep/key.pem": "644 Mg==",
    });
    rmSync(at("app"), { recursive: true });
    writeFileSync(at("app"), "in the way");
    mkdirSync(at("app.pem"));
    await bringBack(store, workspace, id);
    expect(contents(kept.root)).toMatchObject({ app: "755 directory", "app/code": "644 MQ==" });
  });

  it("does not write through a hard link, and brings back files that shared one", async () => {
    writeFileSync(at("a"), "1");
    linkSync(at("a"), at("b"));
    const store = kept.store();
    const workspace = await open();
    const { id, storedBytes } = await keep(store, workspace);
    expect(storedBytes).toBe(1);
    const outside = join(kept.base, "outside");
    writeFileSync(outside, "mine");
    unlinkSync(at("a"));
    linkSync(outside, at("a"));
    await bringBack(store, workspace, id);
    expect([
      readFileSync(at("a"), "utf8"),
      readFileSync(at("b"), "utf8"),
      readFileSync(outside, "utf8"),
    ]).toEqual(["1", "1", "mine"]);
  });

  it("can be cancelled both ways, and leaves nothing half done in the store", async () => {
    for (let index = 0; index < 20; index++) writeFileSync(at(`f${index}`), Buffer.alloc(100_000, index));
    const store = kept.store();
    const workspace = await open();
    const aborted = AbortSignal.abort();
    await expect(keep(store, workspace, { signal: aborted })).rejects.toThrow(failsWith("CANCELLED"));
    expect([await store.list(), kept.onDisk()]).toEqual([[], { blobs: [], others: [] }]);
    const { id } = await keep(store, workspace);
    rmSync(at("f3"));
    await expect(bringBack(store, workspace, id, { signal: aborted })).rejects.toThrow(
      failsWith("CANCELLED"),
    );
    expect((await bringBack(store, workspace, id)).written).toBe(1);
    expect(kept.onDisk().others).toEqual([]);
  });

  it("ends when the other side takes for ever", async () => {
    writeFileSync(at("f"), Buffer.alloc(100_000, 1));
    const store = kept.store();
    const workspace = await open();
    const late = failsWith("FILE_FAILED", "The workspace's files could not be copied in time");
    await expect(keep(store, workspace, { timeoutMs: 0 })).rejects.toThrow(late);
    const { id } = await keep(store, workspace);
    await expect(bringBack(store, workspace, id, { timeoutMs: 0 })).rejects.toThrow(late);
    expect(await bringBack(store, workspace, id)).toMatchObject({ unchanged: 1 });
  });

  it("says that the disk is full, keeps the snapshot, and goes on when there is room", async (context) => {
    writeFileSync(at("large"), Buffer.alloc(256 * 1024, 1));
    const store = kept.store();
    const { id } = await keep(store, await kept.directly());
    unlinkSync(at("large"));
    const mount = ["-t", "tmpfs", "-o", "size=64k", "tmpfs", kept.root];
    try {
      execFileSync("mount", mount, { stdio: "ignore" });
    } catch {
      console.log("skipped: mounting a tiny tmpfs needs root");
      return context.skip("mounting a tiny tmpfs needs root");
    }
    try {
      const workspace = await open();
      await expect(bringBack(store, workspace, id)).rejects.toThrow(failsWith("DISK_FULL"));
      execFileSync("mount", ["-o", "remount,size=1m", kept.root]);
      expect(await bringBack(store, workspace, id)).toMatchObject({ written: 1 });
      expect(statSync(at("large")).size).toBe(256 * 1024);
      workspace.close();
    } finally {
      execFileSync("umount", ["-l", kept.root]);
    }
  });

  it("gives the same tree after any changes", async () => {
    const name = fc.constantFrom("a", "b", "a-b", "ü", " ");
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
    const change = fc.record({
      path,
      what: fc.constantFrom("file", "directory", "link", "remove", "mode", "fifo"),
      text: fc.constantFrom("", "1", "22", "x".repeat(200_000)),
      mode: fc.constantFrom(0o644, 0o755, 0o400, 0o700, 0o500),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(change, { maxLength: 12 }),
        fc.array(change, { maxLength: 12 }),
        async (one, two) => {
          const place = new SnapshotWorkspace();
          try {
            const workspace = isDirect ? await place.directly() : await place.throughGuest();
            for (const each of one) apply(place.root, each);
            const before = contents(place.root);
            const { id } = await keep(place.store(), workspace);
            for (const each of two) apply(place.root, each);
            await bringBack(place.store(), workspace, id);
            expect(contents(place.root)).toEqual(before);
            expect((await bringBack(place.store(), workspace, id)).written).toBe(0);
          } finally {
            await place.stop();
          }
        },
      ),
      { numRuns: isDirect ? 60 : 12 },
    );
  });
});

describe("a sparse file", () => {
  it("keeps holes, so that a sparse file takes no room and comes back where it fits", async () => {
    writeFileSync(at("sparse"), "start");
    truncateSync(at("sparse"), 48 * 2 ** 20);
    const store = kept.store();
    const workspace = await kept.directly();
    const { id, bytes } = await keep(store, workspace);
    unlinkSync(at("sparse"));
    await bringBack(store, workspace, id);
    const [sha256] = kept.onDisk().blobs;
    const blob = statSync(join(kept.directory, "blobs", sha256!.slice(0, 2), sha256!));
    const file = statSync(at("sparse"));
    expect([bytes, file.size, readFileSync(at("sparse")).subarray(0, 6).toString()]).toEqual([
      48 * 2 ** 20,
      48 * 2 ** 20,
      "start\0",
    ]);
    expect([blob.blocks, file.blocks].every((blocks) => blocks * 512 < 2 ** 20)).toBe(true);
  });
});

interface Change {
  readonly path: string;
  readonly what: string;
  readonly text: string;
  readonly mode: number;
}

/** Does it where it goes. This is root's own file system: nothing is followed, and nothing blocks. */
function apply(root: string, { path, what, text, mode }: Change): void {
  const names = path.split("/");
  const look = (depth: number) => lstatSync(join(root, ...names.slice(0, depth)), { throwIfNoEntry: false });
  for (let depth = 1; depth < names.length; depth++) if (look(depth)?.isDirectory() === false) return;
  const there = look(names.length);
  const target = join(root, path);
  if (what === "remove") return rmSync(target, { recursive: true, force: true });
  if (what === "mode") {
    if (there?.isFile() || there?.isDirectory()) chmodSync(target, mode);
    return;
  }
  mkdirSync(join(root, ...names.slice(0, -1)), { recursive: true });
  if (what === "file" && (there === undefined || there.isFile())) writeFileSync(target, text, { mode });
  if (there !== undefined) return;
  if (what === "directory") mkdirSync(target, { mode });
  if (what === "link") symlinkSync(`nowhere${text.slice(0, 20)}`, target);
  if (what === "fifo") execFileSync("mkfifo", [target]);
}

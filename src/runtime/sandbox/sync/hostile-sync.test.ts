import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  base,
  contents,
  guest,
  host,
  inside,
  open,
  useSyncedFiles,
} from "../../../../test/setup/synced-files.js";

useSyncedFiles();

describe("a sandbox that is against it", () => {
  const ANSWERS_PROBE = 'case "$*" in "/ -prune"*) exit 0 ;; esac';
  const fakeFind = (body: string) => `#!/bin/sh\n${ANSWERS_PROBE}\n${body}\n`;

  it("cannot fill this host's disk, whatever sizes it tells", async () => {
    writeFileSync(join(inside, "a"), Buffer.alloc(300_000, 1));
    writeFileSync(join(inside, "b"), Buffer.alloc(300_000, 2));
    const sync = await open({ limits: { maxBytes: 500_000, maxEntries: 100 } });
    const report = await sync.toHost();
    expect(report).toMatchObject({ copied: 1, bytes: 300_000, complete: false });
    expect(report.skipped).toMatchObject([{ code: "DISK_FULL" }]);
    // A file that is replaced makes room for its successor.
    const [kept] = readdirSync(host);
    writeFileSync(join(inside, kept!), Buffer.alloc(400_000, 3));
    rmSync(join(inside, kept === "a" ? "b" : "a"));
    expect(await sync.toHost()).toMatchObject({ copied: 1, complete: true });
  });

  it("cannot hide files here under the name of an unfinished one", async () => {
    const sync = await open({ limits: { maxBytes: 1_000_000, maxEntries: 100 } });
    const name = (count: number) => `.skerry-${String(count).padStart(18, "0")}.tmp`;
    for (let count = 0; count < 4; count++) {
      rmSync(join(inside, name(count - 1)), { force: true });
      writeFileSync(join(inside, name(count)), Buffer.alloc(900_000));
      const report = await sync.toHost();
      expect(report.skipped).toMatchObject([{ path: name(count), code: "FILE_DENIED" }]);
    }
    expect(readdirSync(host)).toEqual([]);
  });

  it("cannot pass a sparse file of a terabyte, or one that it calls small", async () => {
    writeFileSync(join(inside, "sparse"), "");
    truncateSync(join(inside, "sparse"), 2 ** 40);
    const lying = fakeFind(
      `case "$*" in *-mindepth*) printf 'f 644 5 1 1 1\\n./sparse\\0' ;; *) exec /usr/bin/find "$@" ;; esac`,
    );
    for (const programs of [{}, { find: lying }]) {
      const sync = await open({ limits: { maxBytes: 1_000_000, maxEntries: 100 } }, programs);
      const report = await sync.toHost();
      expect(report).toMatchObject({ copied: 0, complete: false, skipped: [{ code: "DISK_FULL" }] });
      expect(readdirSync(host)).toEqual([]);
      await guest.stop();
    }
  });

  it("cannot make more files here than it may have", async () => {
    for (let index = 0; index < 30; index++) writeFileSync(join(inside, String(index)), "");
    const sync = await open({ limits: { maxBytes: 1000, maxEntries: 20 } });
    expect((await sync.toHost()).complete).toBe(false);
    expect(readdirSync(host).length).toBeLessThanOrEqual(20);
  });

  it.each([
    ["that is no listing", "echo hello; printf '\\0'"],
    ["with a path that leaves", "printf 'f 644 1 1 1 1\\n./../../escaped\\0'"],
    ["with an absolute path", "printf 'f 644 1 1 1 1\\n/etc/passwd\\0'"],
  ])("cannot pass off an answer %s", async (_, body) => {
    writeFileSync(join(host, "kept"), "1");
    const sync = await open({}, { find: fakeFind(body) });
    await expect(sync.toHost()).rejects.toThrow(expect.objectContaining({ code: "FILE_FAILED" }));
    expect(readdirSync(host)).toEqual(["kept"]);
  });

  it("cannot list a file beneath a file, or call a link a directory, to get out", async () => {
    const outside = join(base, "outside");
    mkdirSync(outside);
    symlinkSync(outside, join(host, "out"));
    mkdirSync(join(inside, "out"));
    writeFileSync(join(inside, "out/x"), "1");
    writeFileSync(join(inside, "f"), "1");
    const listing = "printf 'f 644 1 1 1 1\\n./f\\0f 644 1 1 1 2\\n./f/g\\0f 644 1 1 1 3\\n./out/x\\0'";
    const sync = await open(
      {},
      { find: fakeFind(`case "$*" in *-mindepth*) ${listing} ;; *) exec /usr/bin/find "$@" ;; esac`) },
    );
    const report = await sync.toHost();
    expect(report.complete).toBe(false);
    expect(readdirSync(outside)).toEqual([]);
  });

  it("leaves whole files when it dies on the way, and says so", async () => {
    for (let index = 0; index < 5; index++) writeFileSync(join(inside, `f${index}`), "old");
    const sync = await open();
    await sync.toHost();
    const before = contents(host);
    for (let index = 0; index < 5; index++)
      writeFileSync(join(inside, `f${index}`), Buffer.alloc(20_000_000, index));
    const copying = sync.toHost();
    copying.catch(() => undefined);
    while (!readdirSync(host).some((name) => name.endsWith(".tmp"))) await new Promise(setImmediate);
    await guest.stop();
    await expect(copying).rejects.toThrow();
    expect(contents(host)).toEqual(before);
  });

  it("cannot pass on half of a file that is being written", async () => {
    const sync = await open();
    writeFileSync(join(inside, "log"), "start");
    await sync.toHost();
    // Every time it is looked at it has changed.
    const growing = fakeFind(`echo more >> "${inside}/log"; exec /usr/bin/find "$@"`);
    await guest.stop();
    const restless = await open({}, { find: growing });
    const report = await restless.toHost();
    expect(report).toMatchObject({ complete: false, skipped: [{ path: "log", code: "FILE_FAILED" }] });
    expect(readFileSync(join(host, "log"), "utf8")).toBe("start");
    // There is no later sync: better what there is than nothing.
    expect((await restless.toHost({ last: true })).complete).toBe(false);
    expect(readFileSync(join(host, "log"), "utf8")).toContain("more");
  });
});

import { execFileSync, spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { requires } from "../../../test/setup/requires.js";
import { openStore } from "./index.js";
import { openDatabase } from "./open-store.js";

let directory: string;
let path: string;

beforeEach(() => {
  directory = temporaryDirectory();
  path = join(directory, "state", "store.db");
});

const modeOf = (file: string) => (statSync(file).mode & 0o777).toString(8);

it("makes files that only their owner can read, in a directory of their own", async () => {
  const before = process.umask(0);
  const store = await openStore({ url: path });
  process.umask(before);
  await store.sessions.create("acme", { name: "demo", settings: {} });
  const parent = join(directory, "state");
  expect(modeOf(parent)).toBe("700");
  expect(readdirSync(parent).map((name) => [name, modeOf(join(parent, name))])).toEqual([
    ["store.db", "600"],
    ["store.db-shm", "600"],
    ["store.db-wal", "600"],
  ]);
  await store.close();
});

it("takes the right to read away from others where a copy gave it", async () => {
  await (await openStore({ url: path })).close();
  chmodSync(path, 0o644);
  await (await openStore({ url: path })).close();
  expect(modeOf(path)).toBe("600");
});

it("writes ahead, and waits for the disk at checkpoints only", async () => {
  const database = await openDatabase(path);
  expect(await database.query("PRAGMA journal_mode")).toEqual([{ journal_mode: "wal" }]);
  expect(await database.query("PRAGMA synchronous")).toEqual([{ synchronous: 1 }]);
  await database.close();
});

it.each([
  ["no database", () => writeFileSync(path, "not a database at all".repeat(1000)), "is not a database"],
  ["a directory", () => mkdirSync(path), "is not a regular file"],
  ["a FIFO", () => execFileSync("mkfifo", [path]), "is not a regular file"],
  ["a link to nowhere", () => symlinkSync(join(directory, "no", "where"), path), "cannot be opened (ENOENT)"],
])("refuses %s", async (_, make, why) => {
  mkdirSync(join(directory, "state"));
  make();
  const error = await openStore({ url: path }).catch((caught) => caught);
  expect(error).toMatchObject({ code: "STORE_FAILED", message: expect.stringContaining(why) });
  expect(`${error.message} ${error.hint}`).not.toContain(directory);
});

it("keeps what is not in the database yet from another process, also after it was opened twice here", async () => {
  const first = await openStore({ url: path });
  await first.sessions.create("acme", { name: "demo", settings: {} });
  const second = await openStore({ url: path });
  const written = statSync(`${path}-wal`).ino;
  // The process that believes to be the last to close the database cleans up.
  const program = `const db = new (require("libsql"))(process.argv[1]); db.exec("BEGIN IMMEDIATE; COMMIT"); db.close();`;
  execFileSync(process.execPath, ["-e", program, path]);
  expect(statSync(`${path}-wal`).ino).toBe(written);
  expect((await second.sessions.list("acme")).items).toHaveLength(1);
  await Promise.all([first.close(), second.close()]);
});

it("waits while another connection writes, and lets everything else go on meanwhile", async () => {
  const [a, b] = [await openDatabase(path), await openDatabase(path)];
  await a.run("CREATE TABLE t (n BIGINT)");
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const holding = a.transaction(async (statements) => {
    await statements.run("INSERT INTO t VALUES (1)");
    await gate;
  });
  let isDone = false;
  const waiting = b.run("INSERT INTO t VALUES (2)").then(() => {
    isDone = true;
  });
  // Reaching this line shows that nothing waits in SQLite.
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  expect(isDone).toBe(false);
  release();
  await Promise.all([holding, waiting]);
  expect(await b.query("SELECT n FROM t ORDER BY n")).toEqual([{ n: 1 }, { n: 2 }]);
  await Promise.all([a.close(), b.close()]);
});

requires("linux", "root").it("says that the disk is full, and goes on when there is room", async () => {
  const disk = join(directory, "disk");
  mkdirSync(disk);
  execFileSync("mount", ["-t", "tmpfs", "-o", "size=2m", "tmpfs", disk]);
  try {
    const store = await openStore({ url: join(disk, "store.db") });
    const filler = join(disk, "filler");
    spawnSync("dd", ["if=/dev/zero", `of=${filler}`, "bs=4096"], { stdio: "ignore" });
    const create = (name: string) =>
      store.sessions.create("acme", { name, settings: { text: "x".repeat(100_000) } });
    await expect(create("a")).rejects.toMatchObject({ code: "DISK_FULL" });
    await expect(create("a")).rejects.toMatchObject({ code: "DISK_FULL" });
    expect((await store.sessions.list("acme")).items).toEqual([]);
    rmSync(filler);
    await create("a");
    expect((await store.sessions.list("acme")).items.map(({ name }) => name)).toEqual(["a"]);
    await store.close();
  } finally {
    execFileSync("umount", ["-l", disk]);
  }
  expect(existsSync(join(disk, "store.db"))).toBe(false);
});

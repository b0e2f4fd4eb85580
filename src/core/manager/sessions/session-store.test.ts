import { existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join, relative } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { requires } from "../../../../test/setup/requires.js";
import { SessionStore } from "./session-store.js";

const UIDS = { start: 200_000, count: 900 };
/** No process has such an id. */
const DEAD = "999999999-1-";
let root: string;
let store: SessionStore;

beforeEach(() => {
  root = temporaryDirectory();
  store = new SessionStore(root, UIDS);
});

const holderOf = (uid: number | undefined) => readlinkSync(join(root, "owners", String(uid))).split("\n")[1];

requires("root").describe("the user of a sandbox that was started ahead", () => {
  it("goes with it to a new session, and stays with it where another caller has made the session", async () => {
    const [first, second] = [store.openEphemeral("one"), store.openEphemeral("two")];
    const adopted = store.adopt(first, "s");
    expect(holderOf(first.owner?.uid)).toBe(relative(root, adopted!.path));
    expect(store.adopt(second, "s")).toBeUndefined();
    expect(holderOf(second.owner?.uid)).toBe(relative(root, second.path));
    await store.discardEphemeral(second);
    expect(readdirSync(join(root, "owners"))).toEqual([String(first.owner?.uid)]);
  });

  it("is given back when its process was killed on the way and another one made the session", async () => {
    const { owner, path } = await store.open("s");
    symlinkSync(`${DEAD}owner\n${relative(root, path)}`, join(root, "owners", "200999"));
    mkdirSync(join(root, "ephemeral", `${DEAD}left`));
    expect(await store.reap()).toBe(1);
    expect(readdirSync(join(root, "owners"))).toEqual([String(owner?.uid)]);
  });

  it("is given back when its process was killed before there was a directory", async () => {
    const { owner } = await store.open("s");
    symlinkSync(`${DEAD}owner\nephemeral/${DEAD}never`, join(root, "owners", "200999"));
    await store.reap();
    expect(readdirSync(join(root, "owners"))).toEqual([String(owner?.uid)]);
  });

  it("is kept for a session whose maker has ended", async () => {
    const { owner, path } = await store.open("s");
    const taken = join(root, "owners", String(owner?.uid));
    rmSync(taken);
    symlinkSync(`${DEAD}owner\n${relative(root, path)}`, taken);
    mkdirSync(join(root, "ephemeral", `${DEAD}left`));
    await store.reap();
    expect(readdirSync(join(root, "owners"))).toEqual([String(owner?.uid)]);
  });
});

requires("root").describe("a temporary session", () => {
  it("is its process's alone: no listing shows it, and it goes with that process", async () => {
    store.addTemporary("t");
    const { path } = await store.open("t");
    expect((await store.open("t")).path).toBe(path);
    expect([store.exists("t"), store.list()]).toEqual([true, []]);
    expect(await store.reap()).toBe(0);
    const killed = join(root, "sessions", `.temporary-${DEAD}left`);
    renameSync(path, killed);
    expect(await store.reap()).toBe(1);
    expect(existsSync(killed)).toBe(false);
  });

  it("goes when all of them are deleted, and is temporary when it is used again", async () => {
    store.addTemporary("t");
    const { path } = await store.open("t");
    await store.deleteTemporary();
    expect(existsSync(path)).toBe(false);
    await store.open("t");
    expect(store.list()).toEqual([]);
  });
});

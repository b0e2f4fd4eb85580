import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect } from "vitest";
import { requires } from "../../../../test/setup/requires.js";
import type { HostRequest } from "./host-request.js";
import { RunDirectory, reapRunDirectories } from "./run-directory.js";

const { describe, it } = requires("linux");
const root = requires("linux", "root");
const REQUEST = { settings: {}, command: "true" } as unknown as HostRequest;
/** No process has it. */
const DEAD = "999999-1-sbx";

let directory: string;
let stateDir: string;
let settingsPath: string;
const elsewhere: string[] = [];
beforeEach(() => {
  directory = mkdtempSync("/tmp/skerry-run-");
  stateDir = join(directory, "s");
  settingsPath = join(directory, "home", "settings.json");
});
afterEach(() => {
  for (const path of [directory, ...elsewhere.splice(0)]) rmSync(path, { recursive: true, force: true });
});

const create = (state = stateDir, owner?: { uid: number; gid: number }) =>
  RunDirectory.create({ stateDir: state, settingsPath, id: "sbx", owner, createRequest: () => REQUEST });
const entries = (state = stateDir) => readdirSync(join(state, "srt"));
const longStateDir = () => join(directory, "x".repeat(80));

/** As if the process that made it had been killed. */
function orphan(state: string): void {
  renameSync(join(state, "srt", entries(state)[0]!), join(state, "srt", DEAD));
}

function inTmp(name: string): string {
  const path = join("/tmp", name);
  elsewhere.push(path);
  mkdirSync(path, { mode: 0o755 });
  writeFileSync(join(path, "file"), "kept");
  return path;
}

describe("a run directory", () => {
  it("is below the state directory, and goes with the sandbox", async () => {
    const made = await create();
    expect(dirname(made.path)).toBe(join(stateDir, "srt"));
    expect(lstatSync(made.path).mode & 0o777).toBe(0o700);
    expect(JSON.parse(readFileSync(join(made.path, "request.json"), "utf8"))).toEqual(REQUEST);
    await made.remove();
    expect(entries()).toEqual([]);
    expect(readdirSync(join(directory, "home", "srt-sessions"))).toEqual([]);
  });

  it.each([
    ["is too long", () => longStateDir()],
    ["has a comma, at which socat ends a path", () => join(directory, "a,b")],
  ])("is in a private place where the state directory's path %s", async (_, path) => {
    const made = await create(path());
    const outer = dirname(made.path);
    elsewhere.push(outer);
    expect(made.path).toMatch(/^\/tmp\/skerry-srt-[0-9a-f]{16}\/run$/);
    expect(entries(path()).map((name) => readlinkSync(join(path(), "srt", name)))).toEqual([outer]);
    expect([lstatSync(outer).mode & 0o777, lstatSync(outer).uid]).toEqual([0o700, process.getuid?.()]);
    await made.remove();
    expect([existsSync(outer), entries(path())]).toEqual([false, []]);
  });

  it("is not made in a folder that others can change", async () => {
    mkdirSync(join(directory, "theirs"));
    mkdirSync(stateDir);
    symlinkSync(join(directory, "theirs"), join(stateDir, "srt"));
    await expect(create()).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    expect(readdirSync(join(directory, "theirs"))).toEqual([]);
  });

  it("shows its settings in no folder that others can change, and through no link", async () => {
    mkdirSync(join(directory, "theirs"));
    mkdirSync(join(directory, "home"));
    symlinkSync(join(directory, "theirs"), join(directory, "home", "srt-sessions"));
    const made = await create();
    expect(readdirSync(join(directory, "theirs"))).toEqual([]);
    await made.remove();
  });

  it("leaves nothing when it cannot be made", async () => {
    const createRequest = () => ({ ...REQUEST, openFiles: 1n as unknown as number });
    for (const state of [stateDir, longStateDir()]) {
      const init = { stateDir: state, settingsPath, id: "sbx", owner: undefined, createRequest };
      const before = readdirSync("/tmp").filter((name) => /^skerry-srt-[0-9a-f]{16}$/.test(name));
      await expect(RunDirectory.create(init)).rejects.toThrow("BigInt");
      expect(entries(state)).toEqual([]);
      const after = readdirSync("/tmp").filter((name) => /^skerry-srt-[0-9a-f]{16}$/.test(name));
      expect(after.filter((name) => !before.includes(name))).toEqual([]);
    }
  });
});

describe("reaping", () => {
  it("removes what the dead left, wherever it is, and what they linked to stays", async () => {
    mkdirSync(join(directory, "precious"));
    writeFileSync(join(directory, "precious", "file"), "kept");
    for (const state of [stateDir, longStateDir()]) {
      const { path } = await create(state);
      elsewhere.push(path.startsWith(directory) ? path : dirname(path));
      symlinkSync(join(directory, "precious"), join(path, "link"));
      expect(await reapRunDirectories(state, settingsPath)).toEqual(new Set());
      expect(existsSync(path)).toBe(true);
      orphan(state);
      expect(await reapRunDirectories(state, settingsPath)).toEqual(new Set([DEAD]));
      expect([entries(state), existsSync(elsewhere.at(-1)!)]).toEqual([[], false]);
      rmSync(join(directory, "home"), { recursive: true });
    }
    expect(readFileSync(join(directory, "precious", "file"), "utf8")).toBe("kept");
  });

  it("never goes by names that it finds in /tmp", async () => {
    const theirs = inTmp(`skerry-srt-999999-1-${process.pid}`);
    expect(await reapRunDirectories(stateDir, settingsPath)).toEqual(new Set());
    expect(readFileSync(join(theirs, "file"), "utf8")).toBe("kept");
  });

  it.each([
    ["out of /tmp", () => join(directory, "skerry-srt-0123456789abcdef")],
    ["to another name there", () => inTmp(`skerry-other-${process.pid}`)],
    ["to nothing", () => "/tmp/skerry-srt-0000000000000000"],
  ])("leaves alone what a record names that leads %s", async (_, target) => {
    const path = target();
    mkdirSync(join(stateDir, "srt"), { recursive: true, mode: 0o711 });
    if (path.startsWith(directory)) mkdirSync(path);
    const existed = existsSync(path);
    symlinkSync(path, join(stateDir, "srt", DEAD));
    expect(await reapRunDirectories(stateDir, settingsPath)).toEqual(new Set([DEAD]));
    expect([existsSync(path), entries()]).toEqual([existed, []]);
  });

  it("goes on after one that cannot be removed", async () => {
    const sessions = join(directory, "home", "srt-sessions");
    // A directory where a file should be.
    mkdirSync(join(sessions, "999999-1-a.json"), { recursive: true, mode: 0o700 });
    writeFileSync(join(sessions, "999999-1-b.json"), "{}");
    expect(await reapRunDirectories(stateDir, settingsPath)).toEqual(new Set(["999999-1-b"]));
    expect(readdirSync(sessions)).toEqual(["999999-1-a.json"]);
  });

  it("does nothing in folders that others can change", async () => {
    const theirs = join(directory, "theirs");
    mkdirSync(join(theirs, DEAD), { recursive: true });
    writeFileSync(join(theirs, `${DEAD}.json`), "");
    for (const folder of [stateDir, join(directory, "home")]) mkdirSync(folder);
    symlinkSync(theirs, join(stateDir, "srt"));
    symlinkSync(theirs, join(directory, "home", "srt-sessions"));
    expect(await reapRunDirectories(stateDir, settingsPath)).toEqual(new Set());
    expect(readdirSync(theirs)).toHaveLength(2);
  });
});

root.describe("a run directory of a sandbox that root started", () => {
  const owner = { uid: 1_899_999_118, gid: 1_899_999_118 };

  it("is the sandbox's user's own, in a place that only root can change", async () => {
    for (const state of [stateDir, longStateDir()]) {
      const made = await create(state, owner);
      const parent = dirname(made.path);
      elsewhere.push(parent);
      expect([lstatSync(made.path).uid, lstatSync(made.path).mode & 0o777]).toEqual([owner.uid, 0o700]);
      expect([lstatSync(parent).uid, lstatSync(parent).mode & 0o777]).toEqual([0, 0o711]);
      await made.remove();
      expect(entries(state)).toEqual([]);
    }
  });

  it("is left alone where another user has put one of its name", async () => {
    const theirs = inTmp("skerry-srt-00000000deadbeef");
    chownSync(theirs, owner.uid, owner.gid);
    mkdirSync(join(stateDir, "srt"), { recursive: true, mode: 0o711 });
    symlinkSync(theirs, join(stateDir, "srt", DEAD));
    await reapRunDirectories(stateDir, settingsPath);
    expect([readFileSync(join(theirs, "file"), "utf8"), entries()]).toEqual(["kept", []]);
  });
});

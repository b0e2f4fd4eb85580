import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { AgentWorkspace } from "./agent-workspace.js";
import { takeSnapshot } from "./change-tracker.js";
import { removeTree } from "./remove-tree.js";

const NOBODY = 65534;
const isRoot = process.geteuid?.() === 0;
const denied = expect.objectContaining({ code: "FILE_DENIED" });
let base: string;

// Modes do not stop root, so this file runs as an ordinary user.
beforeAll(() => {
  if (isRoot) {
    process.setegid?.(NOBODY);
    process.seteuid?.(NOBODY);
  }
  base = temporaryDirectory();
});

afterAll(async () => {
  // Node's own rm stops at the closed directories.
  await removeTree(dirname(base), basename(base));
  if (isRoot) {
    process.seteuid?.(0);
    process.setegid?.(0);
  }
});

describe("for an ordinary user", () => {
  it("directories without permissions are FILE_DENIED, and listings and snapshots go round them", async () => {
    const root = join(base, "modes");
    for (const name of ["closed", "search-only", "read-only"]) {
      mkdirSync(join(root, name, "in"), { recursive: true });
      writeFileSync(join(root, name, "file"), name);
    }
    writeFileSync(join(root, "open"), "");
    writeFileSync(join(root, "unreadable"), "", { mode: 0o000 });
    chmodSync(join(root, "closed"), 0o000);
    chmodSync(join(root, "search-only"), 0o111);
    chmodSync(join(root, "read-only"), 0o444);
    const descriptors = readdirSync("/proc/self/fd").length;
    const workspace = AgentWorkspace.open(root);

    await expect(workspace.readFile("closed/file")).rejects.toThrow(denied);
    await expect(workspace.readFile("unreadable")).rejects.toThrow(denied);
    await expect(workspace.list("closed")).rejects.toThrow(denied);
    await expect(workspace.writeFile("closed/new", "")).rejects.toThrow(denied);
    await expect(workspace.writeFile("search-only/new", "")).rejects.toThrow(denied);
    await expect(workspace.remove("search-only/file")).rejects.toThrow(denied);
    expect((await workspace.readFile("search-only/file")).toString()).toBe("search-only");
    const { entries, truncated } = await workspace.scan(".", { recursive: true });
    expect([entries.map(({ path }) => path), truncated]).toEqual([
      ["closed", "open", "read-only", "search-only", "unreadable"],
      true,
    ]);
    const snapshot = takeSnapshot(workspace);
    expect([[...snapshot.files.keys()].sort(), snapshot.truncated]).toEqual([["open", "unreadable"], true]);

    chmodSync(root, 0o000);
    expect(takeSnapshot(workspace)).toMatchObject({ truncated: true });
    await expect(workspace.list()).rejects.toThrow(denied);
    chmodSync(root, 0o700);
    workspace.close();
    expect(readdirSync("/proc/self/fd").length).toBe(descriptors);
  });

  it("a tree of closed directories is removed, and what its links point to keeps its mode", async () => {
    const root = join(base, "closed");
    const outside = join(base, "outside");
    mkdirSync(outside, 0o500);
    mkdirSync(join(root, "a/b/c/d"), { recursive: true });
    writeFileSync(join(root, "a/b/c/file"), "");
    symlinkSync(outside, join(root, "a/b/link"));
    for (const path of ["a/b/c/d", "a/b/c", "a/b", "a", ""]) chmodSync(join(root, path), 0o000);
    expect(await removeTree(base, "closed")).toBe(true);
    expect(existsSync(root)).toBe(false);
    expect(lstatSync(outside).mode & 0o777).toBe(0o500);
  });
});

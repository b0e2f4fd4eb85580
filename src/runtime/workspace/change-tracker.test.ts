import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { AgentWorkspace } from "./agent-workspace.js";
import { diffSnapshots, takeSnapshot } from "./change-tracker.js";

let root: string;
let workspace: AgentWorkspace;
const at = (path: string) => join(root, path);

beforeEach(() => {
  root = temporaryDirectory();
  workspace = AgentWorkspace.open(root);
});

afterEach(() => {
  workspace.close();
});

describe("change tracking", () => {
  it("names what was created, modified and deleted", () => {
    mkdirSync(at("d/e"), { recursive: true });
    for (const name of ["same", "changed", "gone", "d/e/moved", "mode", "replaced"])
      writeFileSync(at(name), "1");
    symlinkSync("same", at("link"));
    const before = takeSnapshot(workspace);

    writeFileSync(at("changed"), "2");
    rmSync(at("gone"));
    renameSync(at("d/e/moved"), at("d/moved"));
    chmodSync(at("mode"), 0o700);
    rmSync(at("replaced"));
    mkdirSync(at("replaced"));
    rmSync(at("link"));
    symlinkSync("elsewhere", at("link"));
    symlinkSync("/etc", at("new-link"));
    writeFileSync(at("d/e/new"), "");
    mkdirSync(at("empty"));

    expect(diffSnapshots(before, takeSnapshot(workspace))).toEqual({
      created: ["d/e/new", "d/moved", "new-link"],
      modified: ["changed", "link", "mode"],
      deleted: ["d/e/moved", "gone", "replaced"],
      truncated: false,
    });
  });

  it("sees a change whose size and time of modification were put back", () => {
    writeFileSync(at("a"), "1");
    const { atime, mtime } = statSync(at("a"));
    const before = takeSnapshot(workspace);
    writeFileSync(at("a"), "2");
    utimesSync(at("a"), atime, mtime);
    expect(diffSnapshots(before, takeSnapshot(workspace)).modified).toEqual(["a"]);
  });

  it("leaves out what is excluded, with everything beneath", () => {
    const before = takeSnapshot(workspace);
    mkdirSync(at("node_modules/x"), { recursive: true });
    for (const name of ["a", "script.py", "node_modules/x/y", "node_modules2"]) writeFileSync(at(name), "");
    const excluded = ["node_modules", "script.py"];
    const expected = { created: ["a", "node_modules2"], modified: [], deleted: [], truncated: false };
    expect(diffSnapshots(before, takeSnapshot(workspace), { excluded })).toEqual(expected);
    expect(diffSnapshots(before, takeSnapshot(workspace, { excluded }))).toEqual(expected);
  });

  it("claims nothing about what a truncated snapshot did not see", async () => {
    for (let index = 0; index < 30; index++) writeFileSync(at(`f${index}`), "");
    await new Promise((resolve) => setTimeout(resolve, 50));
    const full = takeSnapshot(workspace);
    const part = takeSnapshot(workspace, { maxEntries: 10 });
    expect([part.truncated, part.files.size]).toEqual([true, 10]);
    expect(diffSnapshots(full, part)).toEqual({ created: [], modified: [], deleted: [], truncated: true });
    expect(diffSnapshots(part, full)).toEqual({ created: [], modified: [], deleted: [], truncated: true });
    writeFileSync(at("new"), "");
    expect(diffSnapshots(part, takeSnapshot(workspace)).created).toEqual(["new"]);
  });

  it("survives names that are not UTF-8, keeps them apart, and stops in the deep", () => {
    const before = takeSnapshot(workspace);
    for (const byte of [0xfe, 0xff])
      writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([byte])]), "");
    mkdirSync(at(`${"d/".repeat(70)}`), { recursive: true });
    const after = takeSnapshot(workspace);
    expect(diffSnapshots(before, after)).toEqual({
      created: ["\ufffd", "\ufffd"],
      modified: [],
      deleted: [],
      truncated: true,
    });
    expect(diffSnapshots(after, after)).toMatchObject({ created: [], modified: [] });
  });

  it("leaks no descriptor", () => {
    for (let index = 0; index < 10; index++) writeFileSync(at(`f${index}`), "");
    const descriptors = readdirSync("/proc/self/fd").length;
    for (let round = 0; round < 500; round++) takeSnapshot(workspace);
    expect(readdirSync("/proc/self/fd").length).toBe(descriptors);
  });
});

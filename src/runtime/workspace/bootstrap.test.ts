import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { AgentWorkspace } from "./agent-workspace.js";
import { bootstrapWorkspace } from "./bootstrap.js";
import { staysInside } from "./copy-entry.js";
import { PathTraversalError } from "./file-errors.js";

let base: string;
let sourceRoot: string;
let root: string;
let workspace: AgentWorkspace;
let descriptors: number;

beforeEach(() => {
  base = temporaryDirectory();
  sourceRoot = join(base, "source");
  root = join(base, "workspace");
  mkdirSync(sourceRoot);
  mkdirSync(root);
  descriptors = readdirSync("/proc/self/fd").length;
  workspace = AgentWorkspace.open(root, { denyWrite: [".env"] });
});

afterEach(() => {
  workspace.close();
  const left = readdirSync("/proc/self/fd").length;
  expect(left).toBe(descriptors);
});

function source(files: Record<string, string>) {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(sourceRoot, path)), { recursive: true });
    writeFileSync(join(sourceRoot, path), content);
  }
}

const tree = () => (readdirSync(root, { recursive: true }) as string[]).sort();
const bootstrapFiles = ["AGENTS.md", "docs/SOUL.md", "missing.md"];

describe("bootstrapWorkspace", () => {
  it("copies the init directory and the skills, but not the bootstrap files", async () => {
    source({
      "init/a.txt": "a",
      "init/.env": "KEY",
      "init/skills/one": "old",
      "skills/one": "new",
      "skills/two/x": "",
    });
    source({ "AGENTS.md": "", "init/run.sh": "#!/bin/sh" });
    execFileSync("chmod", ["4755", join(sourceRoot, "init/run.sh")]);
    utimesSync(join(sourceRoot, "init/a.txt"), 1000, 2000);
    mkdirSync(join(sourceRoot, "init/empty"));
    expect(await bootstrapWorkspace({ sourceRoot, workspace, bootstrapFiles })).toBe(6);
    expect(tree()).toEqual(
      [".env", "a.txt", "empty", "run.sh", "skills", "skills/one", "skills/two", "skills/two/x"].sort(),
    );
    expect(readFileSync(join(root, "skills/one"), "utf8")).toBe("new");
    expect(statSync(join(root, "run.sh")).mode & 0o7777).toBe(0o755);
    expect(statSync(join(root, "a.txt")).mtimeMs).toBe(2_000_000);
  });

  it("copies the bootstrap files and the skills when there is no init directory", async () => {
    source({ "AGENTS.md": "hi", "docs/SOUL.md": "soul", "other.md": "", "skills/s": "" });
    expect(await bootstrapWorkspace({ sourceRoot, workspace, bootstrapFiles })).toBe(3);
    expect(tree()).toEqual(["AGENTS.md", "docs", "docs/SOUL.md", "skills", "skills/s"]);
  });

  it("has nothing to do for an empty source, and copies an empty init directory", async () => {
    expect(await bootstrapWorkspace({ sourceRoot, workspace })).toBe(0);
    source({ "AGENTS.md": "" });
    mkdirSync(join(sourceRoot, "init"));
    expect(await bootstrapWorkspace({ sourceRoot, workspace, bootstrapFiles })).toBe(0);
    expect(tree()).toEqual([]);
  });

  it("copies links that stay inside their tree", async () => {
    source({ "init/lib/real": "x", "init/bin/.keep": "" });
    symlinkSync("../lib/real", join(sourceRoot, "init/bin/tool"));
    await bootstrapWorkspace({ sourceRoot, workspace });
    expect(readlinkSync(join(root, "bin/tool"))).toBe("../lib/real");
    expect(readFileSync(join(root, "bin/tool"), "utf8")).toBe("x");
  });

  it.each([
    ["an absolute link", "init/link", "/etc/passwd"],
    ["a link above the tree", "init/link", "../AGENTS.md"],
    ["a link out of the skills", "skills/a/link", "../../init/x"],
    ["a link as the init directory", "init", "/etc"],
    ["a link as a bootstrap file", "AGENTS.md", "/etc/passwd"],
  ])("refuses %s", async (_, path, target) => {
    source({ "docs/SOUL.md": "" });
    mkdirSync(dirname(join(sourceRoot, path)), { recursive: true });
    symlinkSync(target, join(sourceRoot, path));
    await expect(bootstrapWorkspace({ sourceRoot, workspace, bootstrapFiles })).rejects.toThrow(
      PathTraversalError,
    );
    expect(tree()).not.toContain("link");
  });

  it("refuses special files and a missing source", async () => {
    mkdirSync(join(sourceRoot, "init"));
    execFileSync("mkfifo", [join(sourceRoot, "init/fifo")]);
    await expect(bootstrapWorkspace({ sourceRoot, workspace })).rejects.toThrow(
      expect.objectContaining({ code: "FILE_TYPE" }),
    );
    await expect(bootstrapWorkspace({ sourceRoot: join(base, "no"), workspace })).rejects.toThrow(
      expect.objectContaining({ code: "FILE_NOT_FOUND", message: '"bootstrap source" does not exist' }),
    );
  });
});

describe("staysInside", () => {
  it.each([
    [0, "a", true],
    [0, "./a/b", true],
    [1, "../a", true],
    [2, "../../a", true],
    [0, "../a", false],
    [1, "../../a", false],
    [3, "a/../b", false],
    [3, "/a", false],
    [3, "", false],
  ])("at depth %i, %j: %j", (depth, target, expected) => {
    expect(staysInside(depth, target)).toBe(expected);
  });
});

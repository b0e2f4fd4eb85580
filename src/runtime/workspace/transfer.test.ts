import { execFileSync } from "node:child_process";
import { readdirSync, statSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { AgentWorkspace } from "./agent-workspace.js";
import { PathTraversalError } from "./file-errors.js";
import { collectOutputFiles, putInputFiles } from "./transfer.js";

let root: string;
let workspace: AgentWorkspace;

beforeEach(() => {
  root = temporaryDirectory();
  workspace = AgentWorkspace.open(root);
});

afterEach(() => {
  workspace.close();
});

const shown = ({ files, skipped, truncated }: Awaited<ReturnType<typeof collectOutputFiles>>) => ({
  files: files.map(({ path, content }) => `${path}=${content}`),
  skipped: skipped.map(({ path, code }) => `${path}: ${code}`),
  truncated,
});

describe("putInputFiles", () => {
  it("writes text and bytes, with directories and modes", async () => {
    await putInputFiles(workspace, [
      { path: "data/in.csv", content: "a,b" },
      { path: "run", content: Buffer.from([0xff]), mode: 0o755 },
    ]);
    expect(await workspace.readFile("run")).toEqual(Buffer.from([0xff]));
    expect(statSync(join(root, "run")).mode & 0o777).toBe(0o755);
  });

  it.each([
    [
      "a path that leaves",
      [
        { path: "ok", content: "" },
        { path: "../x", content: "" },
      ],
      "PATH_TRAVERSAL",
    ],
    [
      "the same path twice",
      [
        { path: "ok", content: "" },
        { path: "./ok", content: "" },
      ],
      "INVALID_ARGUMENT",
    ],
  ])("writes nothing when there is %s", async (_, files, code) => {
    await expect(putInputFiles(workspace, files)).rejects.toThrow(expect.objectContaining({ code }));
    expect(readdirSync(root)).toEqual([]);
  });
});

describe("collectOutputFiles", () => {
  it("returns paths and globs, sorted, each file once", async () => {
    for (const path of ["out/b.csv", "out/a.csv", "c.csv", "x.txt"])
      await workspace.writeFile(path, path[0]!);
    expect(shown(await collectOutputFiles(workspace, ["x.txt", "*.csv", "out/*"]))).toEqual({
      files: ["c.csv=c", "out/a.csv=o", "out/b.csv=o", "x.txt=x"],
      skipped: [],
      truncated: false,
    });
  });

  it("skips what is missing, special or too large, and says why", async () => {
    symlinkSync("/etc/passwd", join(root, "a-link.out"));
    execFileSync("mkfifo", [join(root, "b-fifo.out")]);
    await workspace.writeFile("c.out", "123456");
    await workspace.writeFile("d.out", "123456");
    await workspace.writeFile("e.out", "1234");
    expect(shown(await collectOutputFiles(workspace, ["*.out", "missing"], { maxBytes: 10 }))).toEqual({
      files: ["c.out=123456", "e.out=1234"],
      skipped: [
        "a-link.out: PATH_TRAVERSAL",
        "b-fifo.out: FILE_TYPE",
        "d.out: FILE_TOO_LARGE",
        "missing: FILE_NOT_FOUND",
      ],
      truncated: false,
    });
  });

  it("stops at the number of files", async () => {
    for (let index = 0; index < 9; index++) await workspace.writeFile(`f${index}`, "");
    const collected = await collectOutputFiles(workspace, ["f*"], { maxFiles: 4 });
    expect([collected.files.length, collected.truncated]).toEqual([4, true]);
  });

  it("throws for a path that leaves the workspace", async () => {
    await expect(collectOutputFiles(workspace, ["../x"])).rejects.toThrow(PathTraversalError);
  });
});

import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { AgentWorkspace } from "./agent-workspace.js";
import { takeSnapshot } from "./change-tracker.js";
import { removeTree } from "./remove-tree.js";

let base: string;
let descriptors: number;
const openDescriptors = () => readdirSync("/proc/self/fd").length;

beforeEach(() => {
  base = temporaryDirectory();
  descriptors = openDescriptors();
});

afterEach(() => {
  // Earlier files of this process may close some meanwhile.
  expect(openDescriptors()).toBeLessThanOrEqual(descriptors);
});

describe("removeTree", () => {
  it("removes a file, a link and a tree, and says whether there was one", async () => {
    mkdirSync(join(base, "outside"));
    writeFileSync(join(base, "outside/kept"), "kept");
    mkdirSync(join(base, "tree/a/b/c"), { recursive: true });
    mkdirSync(join(base, "tree/a/d"));
    writeFileSync(join(base, "tree/a/b/file"), "");
    writeFileSync(join(base, "file"), "");
    symlinkSync(join(base, "outside"), join(base, "link"));
    symlinkSync(join(base, "outside"), join(base, "tree/a/link"));
    symlinkSync("..", join(base, "tree/a/b/up"));

    expect(await removeTree(base, "tree")).toBe(true);
    expect(await removeTree(base, "tree")).toBe(false);
    expect(await removeTree(base, "file")).toBe(true);
    expect(await removeTree(base, "link")).toBe(true);
    expect(readdirSync(base)).toEqual(["outside"]);
    expect(readFileSync(join(base, "outside/kept"), "utf8")).toBe("kept");
  });

  it.each([[""], ["."], [".."], ["a/b"], ["a\0"]])("refuses the name %j", async (name) => {
    await expect(removeTree(base, name)).rejects.toThrow(
      expect.objectContaining({ code: "INVALID_ARGUMENT" }),
    );
  });

  it("removes 10,000 nested directories that were listed and tracked before", async () => {
    nest(join(base, "deep"), 10_000);
    const workspace = AgentWorkspace.open(base);
    const { entries, truncated } = await workspace.scan(".", { recursive: true });
    expect([entries.length, truncated]).toEqual([64, true]);
    expect(takeSnapshot(workspace)).toMatchObject({ truncated: true });

    let ticks = 0;
    const ticking = setInterval(() => ticks++, 5);
    await workspace.remove("deep", { recursive: true });
    clearInterval(ticking);
    workspace.close();
    expect(existsSync(join(base, "deep"))).toBe(false);
    // The process goes on meanwhile.
    expect(ticks).toBeGreaterThan(0);
  });

  it("removes long names nested past PATH_MAX, and a directory with 5,000 full directories", async () => {
    nest(join(base, "long"), 300, "x".repeat(255));
    for (let index = 0; index < 5000; index++)
      mkdirSync(join(base, `wide/in/${index}/full`), { recursive: true });
    await removeTree(base, "long");
    await removeTree(base, "wide");
    expect(readdirSync(base)).toEqual([]);
  });

  it("removes names with newlines, escapes and bytes that are not UTF-8", async () => {
    const prefix = Buffer.from(`${base}/tree/`);
    mkdirSync(join(base, "tree"));
    for (const bytes of [[0xff], [0xc3, 0x28], [0x0a], [0x1b, 0x5b], [0x80, 0xfe]]) {
      const directory = Buffer.concat([prefix, Buffer.from(bytes)]);
      mkdirSync(directory);
      mkdirSync(Buffer.concat([directory, Buffer.from("/"), Buffer.from(bytes)]));
      writeFileSync(Buffer.concat([directory, Buffer.from("/"), Buffer.from(bytes), Buffer.from("/f")]), "");
    }
    await removeTree(base, "tree");
    expect(readdirSync(base)).toEqual([]);
    mkdirSync(Buffer.concat([Buffer.from(`${base}/`), Buffer.from([0xff])]));
    expect(await removeTree(base, Buffer.from([0xff]))).toBe(true);
    expect(readdirSync(base)).toEqual([]);
  });

  it("works while others remove and add", async () => {
    for (let index = 0; index < 300; index++) mkdirSync(join(base, `tree/${index}/a/b`), { recursive: true });
    let adding = true;
    const adder = (async () => {
      for (let index = 0; index < 200 && adding; index++) {
        try {
          mkdirSync(join(base, `tree/${299 - index}/a/new${index}`), { recursive: false });
        } catch {
          // Already removed.
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    const results = await Promise.all([
      removeTree(base, "tree"),
      removeTree(base, "tree"),
      removeTree(base, "tree"),
    ]);
    adding = false;
    await adder;
    expect(results).toContain(true);
    expect(existsSync(join(base, "tree"))).toBe(false);
  });

  it("gives up in time when a guest adds faster than it removes", async () => {
    mkdirSync(join(base, "tree/a/b"), { recursive: true });
    await expect(removeTree(base, "tree", { maxCpuMs: -1 })).rejects.toThrow(
      expect.objectContaining({ code: "FILE_FAILED", hint: expect.stringContaining("Stop the sandbox") }),
    );
  });

  it("stops at another file system", async (context) => {
    mkdirSync(join(base, "tree/a/mount"), { recursive: true });
    try {
      execFileSync("mount", ["-t", "tmpfs", "tmpfs", join(base, "tree/a")], { stdio: "ignore" });
    } catch {
      console.log("skipped: mounting needs root");
      context.skip("mounting needs root");
    }
    try {
      writeFileSync(join(base, "tree/a/kept"), "");
      await expect(removeTree(base, "tree")).rejects.toThrow(
        expect.objectContaining({ code: "FILE_FAILED" }),
      );
      expect(readdirSync(join(base, "tree/a"))).toEqual(["kept"]);
    } finally {
      execFileSync("umount", [join(base, "tree/a")]);
    }
  });
});

/** Makes a chain of directories deeper than any path can say. */
function nest(directory: string, depth: number, name = "d"): void {
  mkdirSync(directory);
  const script =
    "import os,sys\nos.chdir(sys.argv[1])\nfor _ in range(int(sys.argv[2])):\n os.mkdir(sys.argv[3]); os.chdir(sys.argv[3])";
  execFileSync("python3", ["-c", script, directory, String(depth - 1), name]);
}

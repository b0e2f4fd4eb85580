import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { failsWith } from "../../../test/setup/fails-with.js";
import { AgentWorkspace } from "./agent-workspace.js";

const isRoot = process.geteuid?.() === 0;
const SECRET = "the host's secret";
const openDescriptors = () => readdirSync("/proc/self/fd").length;

let base: string;
let root: string;
let outside: string;
let workspace: AgentWorkspace;
let descriptors: number;

beforeEach(() => {
  base = temporaryDirectory();
  root = join(base, "root");
  outside = join(base, "outside");
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), SECRET);
  descriptors = openDescriptors();
  workspace = AgentWorkspace.open(root, { maxReadBytes: 1024 * 1024 });
});

afterEach(async () => {
  workspace.close();
  // A stream closes its descriptor a moment after its end.
  await expect.poll(openDescriptors, { interval: 5 }).toBe(descriptors);
  expect(readdirSync(outside)).toEqual(["secret.txt"]);
  expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe(SECRET);
});

// What holds for files through the guest as well is in sandbox/guest-files/both-ways.test.ts.
describe("AgentWorkspace", () => {
  it("removes the unfinished files of killed processes, once no process can be writing them", async () => {
    const half = ".skerry-0123456789abcdef01.tmp";
    mkdirSync(join(root, "d"));
    mkdirSync(join(root, half));
    for (const name of [`d/${half}`, "d/.skerry-mine.tmp"]) writeFileSync(join(root, name), "");
    const list = async () => (await workspace.list(".", { recursive: true })).map(({ path }) => path);
    expect(await list()).toEqual([half, "d", `d/${half}`, "d/.skerry-mine.tmp"]);
    const later = Date.now() + 3_700_000;
    vi.spyOn(Date, "now").mockReturnValue(later);
    try {
      expect(await list()).toEqual([half, "d", "d/.skerry-mine.tmp"]);
    } finally {
      vi.restoreAllMocks();
    }
    expect(readdirSync(join(root, "d"))).toEqual([".skerry-mine.tmp"]);
  });

  it("keeps a stream in its own directory when the workspace is closed meanwhile", async () => {
    const second = AgentWorkspace.open(root);
    const source = async function* () {
      yield "a";
      second.close();
      yield "b";
    };
    expect(await second.writeStream("x", source())).toBe(2);
    expect(readFileSync(join(root, "x"), "utf8")).toBe("ab");
  });

  it("frees the descriptor of a stream that is not read to its end", async () => {
    writeFileSync(join(root, "big"), Buffer.alloc(512 * 1024));
    const before = openDescriptors();
    const stream = await workspace.createReadStream("big");
    const closed = new Promise((resolve) => stream.once("close", resolve));
    stream.destroy();
    await closed;
    await expect.poll(openDescriptors).toBe(before);
  });

  it("says that it does not exist without naming a host path", () => {
    expect(() => AgentWorkspace.open(join(base, "nowhere"))).toThrow(
      failsWith("FILE_NOT_FOUND", "The workspace does not exist"),
    );
  });

  it("refuses everything once closed", async () => {
    const second = AgentWorkspace.open(root);
    second.close();
    second.close();
    await expect(second.readFile("a")).rejects.toThrow(failsWith("FILE_FAILED"));
  });
});

describe("a hostile guest", () => {
  it.each([
    ["..%2foutside%2fsecret.txt"],
    ["%2e%2e/outside/secret.txt"],
    ["..\\outside\\secret.txt"],
    ["．．/outside"],
  ])("gains nothing from the encoded path %s", async (path) => {
    await expect(workspace.readFile(path)).rejects.toThrow(failsWith("FILE_NOT_FOUND"));
  });

  it("cannot make us read a device", async (context) => {
    try {
      execFileSync("mknod", [join(root, "zero"), "c", "1", "5"], { stdio: "ignore" });
    } catch {
      skip(context, "making a device needs root");
    }
    await expect(workspace.readFile("zero")).rejects.toThrow(
      failsWith("FILE_TYPE", 'Expected a regular file, but "zero" is a device'),
    );
  });

  it("cannot make us read another user's file through a hard link", async () => {
    linkSync(join(outside, "secret.txt"), join(root, "hard"));
    const owned = AgentWorkspace.open(root, { owner: { uid: 12345, gid: 12345 } });
    await expect(owned.readFile("hard")).rejects.toThrow(failsWith("FILE_DENIED"));
    owned.close();
  });

  it("cannot fill our memory with a sparse file", async () => {
    writeFileSync(join(root, "sparse"), "");
    const size = makeSparse(join(root, "sparse"));
    expect(size).toBeGreaterThan(10 ** 13);
    const before = process.memoryUsage().arrayBuffers;
    await expect(workspace.readFile("sparse")).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    await expect(workspace.createReadStream("sparse")).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    const generous = AgentWorkspace.open(root, { maxReadBytes: 2 ** 40 });
    await expect(generous.readFile("sparse")).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    generous.close();
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10 * 1024 * 1024);
    expect((await workspace.stat("sparse")).size).toBe(size);
  });

  it("is believed about sizes only as far as bytes arrive", async () => {
    // Files of /proc say that they are empty.
    const proc = AgentWorkspace.open("/proc/self");
    expect((await proc.readFile("status")).toString()).toContain("Name:");
    await expect(proc.readFile("status", { maxBytes: 10 })).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    proc.close();
  });

  it("cannot write to a terminal through a name in our messages", async () => {
    const name = "\u001b]0;owned\u0007\u202etxt.exe\n";
    mkdirSync(join(root, name));
    await expect(workspace.readFile(name)).rejects.toThrow(
      failsWith(
        "FILE_TYPE",
        'Expected a regular file, but "\\x1b]0;owned\\x07\\u{202e}txt.exe\\x0a" is a directory',
      ),
    );
    expect((await workspace.list())[0]?.path).toBe(name);
  });

  it("cannot break a listing with a name that is not UTF-8", async () => {
    writeFileSync(Buffer.concat([Buffer.from(`${root}/`), Buffer.from([0x61, 0xff, 0xfe])]), "x");
    mkdirSync(Buffer.concat([Buffer.from(`${root}/d`), Buffer.from([0xff])]));
    writeFileSync(Buffer.concat([Buffer.from(`${root}/d`), Buffer.from([0xff]), Buffer.from("/in")]), "x");
    expect((await workspace.list(".", { recursive: true })).map(({ path }) => path)).toEqual([
      "a\ufffd\ufffd",
      "d\ufffd",
      "d\ufffd/in",
    ]);
  });
});

describe("the owner", () => {
  it("gets new files and directories, whatever the umask", async (context) => {
    if (!isRoot) skip(context, "giving files away needs root");
    const owned = AgentWorkspace.open(root, { owner: { uid: 12345, gid: 23456 } });
    const umask = process.umask(0o077);
    await owned.writeFile("a/b/c", "");
    await owned.writeNew("a/d", "", { mode: 0o666 });
    await owned.writeStream("a/e", ["x"]);
    process.umask(umask);
    owned.close();
    for (const path of ["a", "a/b", "a/b/c", "a/d", "a/e"]) {
      expect(statSync(join(root, path))).toMatchObject({ uid: 12345, gid: 23456 });
    }
    expect(statSync(join(root, "a/d")).mode & 0o777).toBe(0o666);
    expect(statSync(root).uid).toBe(0);
  });
});

function skip(context: { skip: (note?: string) => never }, reason: string): never {
  console.log(`skipped: ${reason}`);
  return context.skip(reason);
}

function makeSparse(path: string): number {
  for (const bytes of [7 * 2 ** 60, 15 * 2 ** 40]) {
    try {
      execFileSync("truncate", ["-s", String(BigInt(bytes)), path], { stdio: "ignore" });
      return bytes;
    } catch {
      // This file system has a lower limit.
    }
  }
  return 0;
}

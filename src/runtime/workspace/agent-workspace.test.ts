import { execFileSync } from "node:child_process";
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { failsWith } from "../../../test/setup/fails-with.js";
import { AgentWorkspace } from "./agent-workspace.js";
import { PathTraversalError } from "./path-traversal-error.js";

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

describe("AgentWorkspace", () => {
  it("writes, reads, lists, describes and removes files", async () => {
    await workspace.writeFile("src/deep/main.py", "print(1)", { mode: 0o755 });
    await workspace.writeNew("notes é.txt", Buffer.from("hello"));
    await workspace.mkdir("empty/er");

    expect((await workspace.readFile("./src//deep/main.py")).toString()).toBe("print(1)");
    expect((await workspace.list()).map(({ path, type }) => [path, type])).toEqual([
      ["empty", "directory"],
      ["notes é.txt", "file"],
      ["src", "directory"],
    ]);
    expect((await workspace.list("src", { recursive: true })).map(({ path }) => path)).toEqual([
      "src/deep",
      "src/deep/main.py",
    ]);
    expect(await workspace.stat("src/deep/main.py")).toEqual({
      path: "src/deep/main.py",
      type: "file",
      size: 8,
      mode: 0o755,
      modifiedMs: expect.any(Number),
    });
    expect(await workspace.stat(".")).toMatchObject({ path: ".", type: "directory" });

    await workspace.remove("notes é.txt");
    await workspace.remove("empty/er");
    await expect(workspace.remove("src")).rejects.toThrow(failsWith("FILE_EXISTS"));
    await workspace.remove("src", { recursive: true });
    expect((await workspace.list(".", { recursive: true })).map(({ path }) => path)).toEqual(["empty"]);
    expect(await workspace.exists("src/deep")).toBe(false);
    expect(await workspace.exists("empty")).toBe(true);
  });

  it("replaces a file in one step, and creates exclusively when asked", async () => {
    await workspace.writeFile("a", "1");
    await workspace.writeFile("a", "22");
    await expect(workspace.writeFile("a", "3", { exclusive: true })).rejects.toThrow(
      failsWith("FILE_EXISTS"),
    );
    await expect(workspace.writeNew("a", "4")).rejects.toThrow(failsWith("FILE_EXISTS"));
    await workspace.writeFile("b", "5", { exclusive: true });
    expect(readFileSync(join(root, "a"), "utf8")).toBe("22");
    expect(statSync(join(root, "b")).nlink).toBe(1);
    expect(readdirSync(root).sort()).toEqual(["a", "b"]);
  });

  it("streams in both directions", async () => {
    expect(await workspace.writeStream("a/b", Readable.from([Buffer.from("one "), "two"]))).toBe(7);
    expect(await text(await workspace.createReadStream("a/b"))).toBe("one two");
  });

  it("leaves nothing of a stream that is too long or fails", async () => {
    const failing = async function* () {
      yield "some";
      throw new TypeError("source broke");
    };
    await expect(workspace.writeStream("a", ["123", "456"], { maxBytes: 5 })).rejects.toThrow(
      failsWith("FILE_TOO_LARGE"),
    );
    await expect(workspace.writeStream("a", failing())).rejects.toThrow("source broke");
    expect(readdirSync(root)).toEqual([]);
  });

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

  it("fails the stream when the file grows past the cap", async () => {
    writeFileSync(join(root, "growing"), "12345");
    const stream = await workspace.createReadStream("growing", { maxBytes: 8 });
    writeFileSync(join(root, "growing"), "1234567890");
    await expect(text(stream)).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    await expect.poll(openDescriptors).toBe(descriptors + 1);
  });

  it("says what is wrong without naming a host path", async () => {
    writeFileSync(join(root, "file"), "");
    await workspace.mkdir("dir");
    const failures = await Promise.all(
      [
        workspace.readFile("missing"),
        workspace.readFile("dir"),
        workspace.readFile("file/x"),
        workspace.writeFile("dir", ""),
        workspace.writeFile("file/x", ""),
        workspace.mkdir("file"),
        workspace.list("file"),
        workspace.remove("missing", { recursive: true }),
        workspace.remove("."),
        workspace.writeFile("x", "", { mode: 0o4755 }),
      ].map((attempt) =>
        attempt.then(
          () => undefined,
          (error) => `${error.code}: ${error.message}`,
        ),
      ),
    );
    expect(failures).toEqual([
      'FILE_NOT_FOUND: "missing" does not exist',
      'FILE_TYPE: Expected a regular file, but "dir" is a directory',
      'FILE_TYPE: Expected a directory, but "file" is not one',
      'FILE_TYPE: "dir" is a directory',
      'FILE_TYPE: Expected a directory, but "file" is not one',
      'FILE_TYPE: Expected a directory, but "file" is not one',
      'FILE_TYPE: Expected a directory, but "file" is not one',
      'FILE_NOT_FOUND: "missing" does not exist',
      'INVALID_ARGUMENT: The path "." names the workspace itself',
      "INVALID_ARGUMENT: Expected a mode between 0 and 0o777",
    ]);
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

  it("does not write or remove what denyWrite names", async () => {
    await workspace.writeFile("app/.env", "KEY=1");
    await workspace.writeFile("secrets/a/b", "");
    const guarded = AgentWorkspace.open(root, { denyWrite: [".env", "*.pem", "secrets/**"] });
    const denied = failsWith("FILE_DENIED");
    await expect(guarded.writeFile("app/.env", "")).rejects.toThrow(denied);
    await expect(guarded.writeNew("x.pem", "")).rejects.toThrow(denied);
    await expect(guarded.writeStream("x.pem", [])).rejects.toThrow(denied);
    await expect(guarded.mkdir(".env/x")).rejects.toThrow(denied);
    await expect(guarded.remove("secrets/a/b")).rejects.toThrow(denied);
    await expect(guarded.remove("secrets", { recursive: true })).rejects.toThrow(denied);
    await expect(guarded.remove("app", { recursive: true })).rejects.toThrow(denied);
    expect((await guarded.readFile("app/.env")).toString()).toBe("KEY=1");
    await guarded.writeFile("app/ok", "");
    guarded.close();
    expect(existsSync(join(root, "secrets/a/b"))).toBe(true);
  });
});

describe("a hostile guest", () => {
  it.each([
    ["../outside/secret.txt"],
    ["a/../../outside/secret.txt"],
    ["/etc/passwd"],
    ["/proc/self/environ"],
  ])("cannot make us read or write %s", async (path) => {
    for (const attempt of [
      workspace.readFile(path),
      workspace.writeFile(path, "x"),
      workspace.writeNew(path, "x"),
      workspace.writeStream(path, ["x"]),
      workspace.createReadStream(path),
      workspace.list(path),
      workspace.stat(path),
      workspace.exists(path),
      workspace.mkdir(path),
      workspace.remove(path, { recursive: true }),
    ]) {
      await expect(attempt).rejects.toThrow(PathTraversalError);
    }
  });

  it.each([
    ["..%2foutside%2fsecret.txt"],
    ["%2e%2e/outside/secret.txt"],
    ["..\\outside\\secret.txt"],
    ["．．/outside"],
  ])("gains nothing from the encoded path %s", async (path) => {
    await expect(workspace.readFile(path)).rejects.toThrow(failsWith("FILE_NOT_FOUND"));
  });

  it("cannot lead a read through a link", async () => {
    symlinkSync(join(outside, "secret.txt"), join(root, "link"));
    symlinkSync(outside, join(root, "dirlink"));
    symlinkSync("/dev/zero", join(root, "zero"));
    symlinkSync("loop", join(root, "loop"));
    for (const path of ["link", "dirlink/secret.txt", "zero", "loop", "loop/x"]) {
      await expect(workspace.readFile(path)).rejects.toThrow(PathTraversalError);
      await expect(workspace.createReadStream(path)).rejects.toThrow(PathTraversalError);
    }
    await expect(workspace.list("dirlink")).rejects.toThrow(PathTraversalError);
    await expect(workspace.stat("dirlink/secret.txt")).rejects.toThrow(PathTraversalError);
    expect(
      (await workspace.list(".", { recursive: true })).map(({ path, type }) => `${path} ${type}`),
    ).toEqual(["dirlink symlink", "link symlink", "loop symlink", "zero symlink"]);
  });

  it("cannot lead a write through a link: a link at the target is replaced, one above it refused", async () => {
    symlinkSync(join(outside, "secret.txt"), join(root, "link"));
    symlinkSync(join(outside, "new.txt"), join(root, "dangling"));
    symlinkSync(outside, join(root, "dirlink"));
    await expect(workspace.writeNew("link", "x")).rejects.toThrow(failsWith("FILE_EXISTS"));
    await expect(workspace.writeNew("dangling", "x")).rejects.toThrow(failsWith("FILE_EXISTS"));
    await expect(workspace.writeFile("dangling", "x", { exclusive: true })).rejects.toThrow(
      failsWith("FILE_EXISTS"),
    );
    await workspace.writeFile("link", "mine");
    await workspace.writeStream("dangling", ["mine"]);
    expect((await workspace.stat("link")).type).toBe("file");
    expect((await workspace.stat("dangling")).type).toBe("file");
    await expect(workspace.writeFile("dirlink/x", "x")).rejects.toThrow(PathTraversalError);
    await expect(workspace.writeFile("dirlink/sub/x", "x")).rejects.toThrow(PathTraversalError);
    await expect(workspace.mkdir("dirlink/sub")).rejects.toThrow(PathTraversalError);
    await expect(workspace.mkdir("dirlink")).rejects.toThrow(PathTraversalError);
    await expect(workspace.remove("dirlink/secret.txt")).rejects.toThrow(PathTraversalError);
    await workspace.remove("dirlink", { recursive: true });
    expect(existsSync(join(root, "dirlink"))).toBe(false);
  });

  it("cannot make us hang on a FIFO, or read a socket or a device", async () => {
    execFileSync("mkfifo", [join(root, "fifo")]);
    const server = createServer().listen(join(root, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    await expect(workspace.readFile("fifo")).rejects.toThrow(failsWith("FILE_TYPE"));
    await expect(workspace.createReadStream("fifo")).rejects.toThrow(failsWith("FILE_TYPE"));
    await expect(workspace.readFile("socket")).rejects.toThrow(failsWith("FILE_TYPE"));
    expect((await workspace.list()).map(({ type }) => type)).toEqual(["other", "other"]);
    await workspace.writeFile("fifo", "a file now");
    expect((await workspace.readFile("fifo")).toString()).toBe("a file now");
    await new Promise((resolve) => server.close(resolve));
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

  it("cannot make us write through a hard link", async () => {
    linkSync(join(outside, "secret.txt"), join(root, "hard"));
    await workspace.writeFile("hard", "mine");
    expect(readFileSync(join(root, "hard"), "utf8")).toBe("mine");
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
    writeFileSync(join(root, "exact"), Buffer.alloc(1024 * 1024));
    expect((await workspace.readFile("exact")).length).toBe(1024 * 1024);
    truncateSync(join(root, "exact"), 1024 * 1024 + 1);
    await expect(workspace.readFile("exact")).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
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

  it("cannot make a listing endless", async () => {
    for (let index = 0; index < 50; index++) writeFileSync(join(root, `f${index}`), "");
    const { entries, truncated } = await workspace.scan(".", { limit: 20 });
    expect([entries.length, truncated]).toEqual([20, true]);
    expect((await workspace.scan(".", { limit: 50 })).truncated).toBe(false);
  });
});

describe("a full disk", () => {
  it("is DISK_FULL, and leaves no half of a file", async (context) => {
    const mount = join(base, "tiny");
    mkdirSync(mount);
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", mount], { stdio: "ignore" });
    } catch {
      skip(context, "mounting a tiny tmpfs needs root");
    }
    try {
      const tiny = AgentWorkspace.open(mount);
      const large = Buffer.alloc(256 * 1024, 1);
      await tiny.writeFile("kept", "old");
      await expect(tiny.writeFile("kept", large)).rejects.toThrow(failsWith("DISK_FULL"));
      await expect(tiny.writeNew("new", large)).rejects.toThrow(failsWith("DISK_FULL"));
      await expect(tiny.writeStream("stream", [large])).rejects.toThrow(failsWith("DISK_FULL"));
      expect((await tiny.readFile("kept")).toString()).toBe("old");
      expect(readdirSync(mount)).toEqual(["kept"]);
      tiny.close();
    } finally {
      execFileSync("umount", [mount]);
    }
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

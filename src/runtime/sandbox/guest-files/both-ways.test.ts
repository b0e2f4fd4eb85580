import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { failsWith } from "../../../../test/setup/fails-with.js";
import { type StartedGuest, startGuest } from "../../../../test/setup/start-guest.js";
import { byteNameOf } from "../../workspace/byte-name.js";
import {
  AgentWorkspace,
  bootstrapWorkspace,
  collectOutputFiles,
  diffSnapshots,
  type FileRules,
  PathTraversalError,
  putInputFiles,
  type WorkspaceFiles,
} from "../../workspace/index.js";
import { RunnerWorkspace } from "./runner-workspace.js";

const SECRET = "the secret of another directory";

let base: string;
let root: string;
let outside: string;
let guest: StartedGuest | undefined;
const opened: AgentWorkspace[] = [];
const openDescriptors = () => readdirSync("/proc/self/fd").length;
let descriptors: number;

beforeEach(() => {
  base = temporaryDirectory();
  root = join(base, "workspace");
  outside = join(base, "outside");
  mkdirSync(root);
  mkdirSync(outside);
  writeFileSync(join(outside, "secret.txt"), SECRET);
  descriptors = openDescriptors();
});

afterEach(async () => {
  await guest?.stop();
  guest = undefined;
  for (const workspace of opened) workspace.close();
  // A stream closes its descriptor a moment after its end.
  if (opened.splice(0).length > 0) {
    await expect.poll(openDescriptors, { interval: 5 }).toBeLessThanOrEqual(descriptors);
  }
  expect(readdirSync(outside)).toEqual(["secret.txt"]);
  expect(readFileSync(join(outside, "secret.txt"), "utf8")).toBe(SECRET);
});

/** Find as other systems have it: no -printf. */
const PLAIN_FIND = `#!/bin/sh
for word do
  case $word in -printf | -ignore_readdir_race) echo "find: unrecognized: $word" >&2; exit 1 ;; esac
done
exec /usr/bin/find "$@"
`;
const BASH = '#!/bin/sh\nexec bash --posix "$@"\n';

type Open = (rules?: FileRules) => Promise<WorkspaceFiles>;
const throughGuest =
  (programs: Readonly<Record<string, string>>): Open =>
  async (rules = {}) => {
    guest ??= await startGuest(base, programs);
    return new RunnerWorkspace(guest, rules);
  };

const openDirectly: Open = async (rules = {}) => {
  const workspace = AgentWorkspace.open(root, rules);
  opened.push(workspace);
  return workspace;
};

const WAYS: readonly (readonly [string, Open])[] = [
  ["a directory of this host", openDirectly],
  ["the guest", throughGuest({})],
  ["a guest with bash for sh", throughGuest({ sh: BASH })],
  ["a guest with a plain find", throughGuest({ find: PLAIN_FIND })],
];

describe.each(WAYS)("files through %s", (way, open) => {
  const isDirect = way.startsWith("a directory");

  it("writes, reads, lists, describes and removes files", async () => {
    const workspace = await open();
    await workspace.writeFile("src/deep/main.py", "print(1)", { mode: 0o755 });
    await workspace.writeNew("notes é.txt", Buffer.from("hello"));
    await workspace.writeFile("nothing", "");
    await workspace.mkdir("empty/er");

    expect((await workspace.readFile("./src//deep/main.py")).toString()).toBe("print(1)");
    expect((await workspace.readFile("nothing")).length).toBe(0);
    expect((await workspace.list()).map(({ path, type }) => [path, type])).toEqual([
      ["empty", "directory"],
      ["notes é.txt", "file"],
      ["nothing", "file"],
      ["src", "directory"],
    ]);
    expect((await workspace.list("src", { recursive: true })).map(({ path }) => path)).toEqual([
      "src/deep",
      "src/deep/main.py",
    ]);
    const { mtimeMs } = statSync(join(root, "src/deep/main.py"));
    const described = await workspace.stat("src/deep/main.py");
    expect(described).toEqual({
      path: "src/deep/main.py",
      type: "file",
      size: 8,
      mode: 0o755,
      modifiedMs: expect.any(Number),
    });
    expect(Math.floor(described.modifiedMs / 1000)).toBe(Math.floor(mtimeMs / 1000));
    expect(await workspace.stat(".")).toMatchObject({ path: ".", type: "directory" });

    await workspace.remove("notes é.txt");
    await workspace.remove("nothing");
    await workspace.remove("empty/er");
    await expect(workspace.remove("src")).rejects.toThrow(
      failsWith("FILE_EXISTS", '"src" is a directory that is not empty'),
    );
    await workspace.remove("src", { recursive: true });
    expect((await workspace.list(".", { recursive: true })).map(({ path }) => path)).toEqual(["empty"]);
    expect(await workspace.exists("src/deep")).toBe(false);
    expect(await workspace.exists("empty")).toBe(true);
  });

  it("replaces a file in one step, and creates exclusively when asked", async () => {
    const workspace = await open();
    await workspace.writeFile("a", "1");
    await workspace.writeFile("a", "22");
    for (const attempt of [
      () => workspace.writeFile("a", "3", { exclusive: true }),
      () => workspace.writeNew("a", "4"),
    ]) {
      await expect(attempt()).rejects.toThrow(failsWith("FILE_EXISTS", '"a" already exists'));
    }
    await workspace.writeFile("new/b", "5", { exclusive: true, mode: 0o600 });
    expect(readFileSync(join(root, "a"), "utf8")).toBe("22");
    expect(statSync(join(root, "new/b"))).toMatchObject({ nlink: 1, mode: 0o100600 });
    expect(readdirSync(root).sort()).toEqual(["a", "new"]);
  });

  it("streams large files in both directions", async () => {
    const workspace = await open();
    const block = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7) & 0xff));
    const source = Array.from({ length: 30 }, () => block);
    expect(await workspace.writeStream("a/b", Readable.from([...source, "end"]))).toBe(3_000_003);
    const parts: Buffer[] = [];
    for await (const part of await workspace.createReadStream("a/b")) parts.push(part as Buffer);
    expect(Buffer.concat(parts).equals(Buffer.concat([...source, Buffer.from("end")]))).toBe(true);
  });

  it("leaves nothing of a stream that is too long or fails", async () => {
    const workspace = await open();
    const failing = async function* () {
      yield "some";
      throw new TypeError("source broke");
    };
    await expect(workspace.writeStream("a", ["123", "456"], { maxBytes: 5 })).rejects.toThrow(
      failsWith("FILE_TOO_LARGE", '"a" is larger than 5 bytes'),
    );
    await expect(workspace.writeStream("a", failing())).rejects.toThrow(new TypeError("source broke"));
    await expect(workspace.writeStream("a", failing(), { exclusive: true })).rejects.toThrow("source broke");
    await expect.poll(() => readdirSync(root)).toEqual([]);
  });

  it("says what is wrong, without a path of the host or of the sandbox", async () => {
    const workspace = await open();
    writeFileSync(join(root, "file"), "");
    await workspace.mkdir("dir");
    const failures = await Promise.all(
      [
        workspace.readFile("missing"),
        workspace.readFile("missing/x"),
        workspace.readFile("dir"),
        workspace.readFile("file/x"),
        workspace.writeFile("dir", ""),
        workspace.writeFile("file/x", ""),
        workspace.mkdir("file"),
        workspace.list("file"),
        workspace.list("missing"),
        workspace.remove("missing", { recursive: true }),
        workspace.remove("file/x"),
        workspace.remove("."),
        workspace.stat("missing"),
        workspace.writeFile("x", "", { mode: 0o4755 }),
        workspace.writeFile("x", 5 as unknown as string),
        workspace.readFile("-n"),
        workspace.list("$(touch owned)"),
      ].map((attempt) =>
        attempt.then(
          () => undefined,
          (error) => `${error.code}: ${error.message}`,
        ),
      ),
    );
    expect(failures).toEqual([
      'FILE_NOT_FOUND: "missing" does not exist',
      'FILE_NOT_FOUND: "missing" does not exist',
      'FILE_TYPE: Expected a regular file, but "dir" is a directory',
      'FILE_TYPE: Expected a directory, but "file" is not one',
      'FILE_TYPE: "dir" is a directory',
      'FILE_TYPE: Expected a directory, but "file" is not one',
      'FILE_TYPE: Expected a directory, but "file" is not one',
      'FILE_TYPE: Expected a directory, but "file" is not one',
      'FILE_NOT_FOUND: "missing" does not exist',
      'FILE_NOT_FOUND: "missing" does not exist',
      'FILE_TYPE: Expected a directory, but "file" is not one',
      'INVALID_ARGUMENT: The path "." names the workspace itself',
      'FILE_NOT_FOUND: "missing" does not exist',
      "INVALID_ARGUMENT: Expected a mode between 0 and 0o777",
      "INVALID_ARGUMENT: Expected text or bytes, got number",
      'FILE_NOT_FOUND: "-n" does not exist',
      'FILE_NOT_FOUND: "$(touch owned)" does not exist',
    ]);
    expect(readdirSync(root).sort()).toEqual(["dir", "file"]);
  });

  it("does not write or remove what denyWrite names", async () => {
    const workspace = await open();
    await workspace.writeFile("app/.env", "KEY=1");
    await workspace.writeFile("secrets/a/b", "");
    const guarded = await open({ denyWrite: [".env", "*.pem", "secrets/**"] });
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
    expect(existsSync(join(root, "secrets/a/b"))).toBe(true);
  });

  it.each([
    "../outside/secret.txt",
    "a/../../outside/secret.txt",
    "/etc/passwd",
    "/proc/self/environ",
    "a\0b",
  ])("refuses %j", async (path) => {
    const workspace = await open();
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
      await expect(attempt).rejects.toThrow(
        failsWith(path.includes("\0") ? "INVALID_ARGUMENT" : "PATH_TRAVERSAL"),
      );
    }
  });

  it("moves files and directories to free paths, and what denyWrite names nowhere", async () => {
    const workspace = await open({ denyWrite: [".env"] });
    await workspace.writeFile("a/one.txt", "1");
    await workspace.writeFile("two.txt", "2");
    await workspace.move("a/one.txt", "b/c/-one.txt");
    await workspace.move("b", "d e");
    expect(await workspace.readFile("d e/c/-one.txt")).toEqual(Buffer.from("1"));
    expect((await workspace.list(".", { recursive: true })).map(({ path }) => path)).toEqual([
      "a",
      "d e",
      "d e/c",
      "d e/c/-one.txt",
      "two.txt",
    ]);

    mkdirSync(join(root, "kept"));
    writeFileSync(join(root, "kept/.env"), "KEY=1");
    symlinkSync(outside, join(root, "away"));
    await expect(workspace.move("two.txt", "d e/c/-one.txt")).rejects.toEqual(failsWith("FILE_EXISTS"));
    await expect(workspace.move("two.txt", "away/two.txt")).rejects.toEqual(failsWith("PATH_TRAVERSAL"));
    await expect(workspace.move("away/secret.txt", "s.txt")).rejects.toEqual(failsWith("PATH_TRAVERSAL"));
    await expect(workspace.move("none", "some")).rejects.toEqual(failsWith("FILE_NOT_FOUND"));
    await expect(workspace.move("d e", "d e/c/again")).rejects.toEqual(failsWith("INVALID_ARGUMENT"));
    await expect(workspace.move("kept", "elsewhere")).rejects.toEqual(failsWith("FILE_DENIED"));
    await expect(workspace.move("two.txt", ".env")).rejects.toEqual(failsWith("FILE_DENIED"));
    await expect(workspace.move("kept/.env", "env")).rejects.toEqual(failsWith("FILE_DENIED"));
    await workspace.move("away", "link");
    expect(readlinkSync(join(root, "link"))).toBe(outside);
  });

  it("follows no link when it reads, and lists links as what they are", async () => {
    const workspace = await open();
    symlinkSync(join(outside, "secret.txt"), join(root, "link"));
    symlinkSync(outside, join(root, "dirlink"));
    symlinkSync("/dev/zero", join(root, "zero"));
    symlinkSync("loop", join(root, "loop"));
    for (const path of ["link", "dirlink/secret.txt", "zero", "loop", "loop/x"]) {
      await expect(workspace.readFile(path)).rejects.toThrow(PathTraversalError);
      await expect(workspace.createReadStream(path)).rejects.toThrow(PathTraversalError);
    }
    await expect(workspace.list("dirlink")).rejects.toThrow(
      failsWith("PATH_TRAVERSAL", '"dirlink" is a symbolic link, and links are not followed'),
    );
    await expect(workspace.stat("dirlink/secret.txt")).rejects.toThrow(PathTraversalError);
    expect(await workspace.stat("link")).toMatchObject({ path: "link", type: "symlink" });
    expect(
      (await workspace.list(".", { recursive: true })).map(({ path, type }) => `${path} ${type}`),
    ).toEqual(["dirlink symlink", "link symlink", "loop symlink", "zero symlink"]);
  });

  it("replaces a link at the target of a write, and refuses one above it", async () => {
    const workspace = await open();
    symlinkSync(join(outside, "secret.txt"), join(root, "link"));
    symlinkSync(join(outside, "new.txt"), join(root, "dangling"));
    symlinkSync(outside, join(root, "dirlink"));
    await expect(workspace.writeNew("link", "x")).rejects.toThrow(failsWith("FILE_EXISTS"));
    await expect(workspace.writeNew("dangling", "x")).rejects.toThrow(failsWith("FILE_EXISTS"));
    const exclusive = workspace.writeFile("dangling", "x", { exclusive: true });
    await expect(exclusive).rejects.toThrow(failsWith("FILE_EXISTS"));
    expect(await workspace.exists("dangling")).toBe(true);
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

  it("neither hangs on a FIFO nor reads a socket, and replaces both", async () => {
    const workspace = await open();
    execFileSync("mkfifo", [join(root, "fifo")]);
    const server = createServer().listen(join(root, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    await expect(workspace.readFile("fifo")).rejects.toThrow(
      failsWith("FILE_TYPE", 'Expected a regular file, but "fifo" is a FIFO'),
    );
    await expect(workspace.createReadStream("fifo")).rejects.toThrow(failsWith("FILE_TYPE"));
    await expect(workspace.readFile("socket")).rejects.toThrow(failsWith("FILE_TYPE"));
    await expect(workspace.writeNew("fifo", "x")).rejects.toThrow(failsWith("FILE_EXISTS"));
    expect((await workspace.list()).map(({ type }) => type)).toEqual(["other", "other"]);
    await workspace.writeFile("fifo", "a file now");
    expect((await workspace.readFile("fifo")).toString()).toBe("a file now");
    await new Promise((resolve) => server.close(resolve));
  });

  it("does not write through a hard link", async () => {
    const workspace = await open();
    linkSync(join(outside, "secret.txt"), join(root, "hard"));
    await workspace.writeFile("hard", "mine");
    expect(readFileSync(join(root, "hard"), "utf8")).toBe("mine");
  });

  it("does not read more than it may, whatever the size of a file is said to be", async () => {
    const workspace = await open({ maxReadBytes: 1024 * 1024 });
    writeFileSync(join(root, "exact"), Buffer.alloc(1024 * 1024));
    expect((await workspace.readFile("exact")).length).toBe(1024 * 1024);
    truncateSync(join(root, "exact"), 1024 * 1024 + 1);
    await expect(workspace.readFile("exact")).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    writeFileSync(join(root, "growing"), "12345");
    const stream = await workspace.createReadStream("growing", { maxBytes: 8 });
    if (isDirect) {
      writeFileSync(join(root, "growing"), "1234567890");
      await expect(text(stream)).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    } else expect(await text(stream)).toBe("12345");
    execFileSync("truncate", ["-s", "15T", join(root, "sparse")]);
    await expect(workspace.readFile("sparse")).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    await expect(workspace.createReadStream("sparse")).rejects.toThrow(failsWith("FILE_TOO_LARGE"));
    expect((await workspace.stat("sparse")).size).toBe(15 * 2 ** 40);
  });

  it("keeps names of any bytes apart, and shows what is not UTF-8 as such", async () => {
    const workspace = await open();
    const names = ["-rf", "a\nb", " ", "$(x)", "`y`", "'", '"', "*", "(", "!", "\u001b]0;owned\u0007"];
    for (const name of names) await workspace.writeFile(`${name}/${name}`, name);
    const strange = Buffer.concat([Buffer.from(`${root}/z`), Buffer.from([0xff, 0x0a, 0xfe])]);
    writeFileSync(strange, "x");
    const listed = (await workspace.list(".", { recursive: true })).map(({ path }) => path);
    const expected = [...names.flatMap((name) => [name, `${name}/${name}`]), "z\ufffd\n\ufffd"];
    expect(listed).toEqual(expected.sort((a, b) => (a < b ? -1 : 1)));
    for (const name of names) {
      expect((await workspace.readFile(`${name}/${name}`)).toString()).toBe(name);
      await workspace.remove(name, { recursive: true });
    }
    expect((await workspace.list()).length).toBe(1);
  });

  it("cuts a listing that is too long or too deep, and says so", async () => {
    const workspace = await open();
    for (let index = 0; index < 50; index++) writeFileSync(join(root, `f${index}`), "");
    const { entries, truncated } = await workspace.scan(".", { limit: 20 });
    expect([entries.length, truncated]).toEqual([20, true]);
    expect((await workspace.scan(".", { limit: 50 })).truncated).toBe(false);
    mkdirSync(join(root, Array(70).fill("d").join("/")), { recursive: true });
    const deep = await workspace.scan("d", { recursive: true });
    expect([deep.entries.length, deep.truncated]).toEqual([64, true]);
    expect((await workspace.scan("d")).truncated).toBe(false);
    await workspace.remove("d", { recursive: true });
    expect(existsSync(join(root, "d"))).toBe(false);
  });

  it("describes all of a tree, and says whether it is all", async () => {
    const workspace = await open();
    mkdirSync(join(root, "dir/empty"), { recursive: true });
    chmodSync(join(root, "dir/empty"), 0o750);
    writeFileSync(join(root, "dir/run.sh"), "12345", { mode: 0o755 });
    chmodSync(join(root, "dir/run.sh"), 0o4755);
    symlinkSync("../../outside é", join(root, "dir/link"));
    execFileSync("mkfifo", [join(root, "fifo")]);
    writeFileSync(Buffer.concat([Buffer.from(`${root}/z`), Buffer.from([0xff])]), "");
    const { nodes, skipped, ...rest } = await workspace.tree.look(100);
    const seen = [...nodes.values()].map(({ path, type, mode, size, target }) => {
      if (type === "symlink") return [path, type, Buffer.from(target ?? "", "latin1").toString()];
      return [path, type, mode.toString(8), ...(type === "file" ? [size] : [])];
    });
    expect(seen.sort()).toEqual([
      ["dir", "directory", "755"],
      ["dir/empty", "directory", "750"],
      ["dir/link", "symlink", "../../outside é"],
      ["dir/run.sh", "file", "755", 5],
    ]);
    expect(skipped.map(({ path, code }) => [path, code]).sort()).toEqual([
      ["fifo", "FILE_TYPE"],
      ["z\ufffd", "INVALID_ARGUMENT"],
    ]);
    expect(rest).toEqual({ truncated: false, isOnlyTooDeep: false });
    expect(await workspace.tree.look(3)).toMatchObject({ truncated: true, isOnlyTooDeep: false });
    mkdirSync(join(root, Array(70).fill("d").join("/")), { recursive: true });
    expect(await workspace.tree.look(100)).toMatchObject({ truncated: true, isOnlyTooDeep: true });
  });

  it("writes, links, closes and removes a tree as a whole, past what denyWrite names", async () => {
    const workspace = await open({ denyWrite: ["*.pem"] });
    const { tree } = workspace;
    await tree.makeDirectories(["a/b", "closed"]);
    await tree.write(
      { path: "a/b/key.pem", mode: 0o640 },
      Readable.from([Buffer.from("12"), Buffer.from("3")]),
    );
    await tree.write({ path: "-n", mode: 0o600 }, Readable.from([Buffer.alloc(200_000)]));
    await tree.link([
      { path: "closed/link", target: "/nowhere" },
      { path: "-n", target: byteNameOf("é") },
      { path: "a", target: "not in place of a directory" },
    ]);
    await tree.setTimes([{ path: "a/b/key.pem", mtimeNs: 1_500_000_000_000_000_000n }]);
    await tree.setModes([
      { path: "a/b/key.pem", type: "file", mode: 0o400 },
      { path: "closed", type: "directory", mode: 0o500 },
    ]);
    const text = (await workspace.readFile("a/b/key.pem")).toString();
    expect([text, readlinkSync(join(root, "closed/link")), readlinkSync(join(root, "-n"))]).toEqual([
      "123",
      "/nowhere",
      "é",
    ]);
    const key = statSync(join(root, "a/b/key.pem"));
    expect([key.mode & 0o777, key.mtimeMs, statSync(join(root, "closed")).mode & 0o777]).toEqual([
      0o400, 1_500_000_000_000, 0o500,
    ]);
    const parts: Buffer[] = [];
    for await (const part of tree.read("a/b/key.pem")) parts.push(part as Buffer);
    expect(Buffer.concat(parts).toString()).toBe("123");
    await tree.remove([
      { path: "-n", type: "symlink" },
      { path: "a/b", type: "directory" },
      { path: "gone", type: "file" },
    ]);
    expect([workspace.isProtected("a/b/key.pem"), workspace.isProtected("a/b")]).toEqual([true, false]);
    mkdirSync(join(root, `closed/${Array(300).fill("d").join("/")}`), { recursive: true });
    symlinkSync(outside, join(root, "a/outside"));
    await tree.removeTrees(["closed", "a", "gone"]);
    expect(readdirSync(root)).toEqual([]);
  });

  it("tells what changed between two snapshots, without what is excluded", async () => {
    const workspace = await open();
    for (const name of ["keep", "change", "delete", "dir/touch"]) await workspace.writeFile(name, "1");
    const before = await workspace.snapshot();
    writeFileSync(join(root, "change"), "22");
    rmSync(join(root, "delete"));
    mkdirSync(join(root, "new"));
    writeFileSync(join(root, "new/file"), "");
    symlinkSync("/nowhere", join(root, "new/link"));
    mkdirSync(join(root, "ours"));
    writeFileSync(join(root, "ours/a"), "");
    const after = await workspace.snapshot(["ours"]);
    expect(diffSnapshots(before, after)).toEqual({
      created: ["new/file", "new/link"],
      modified: ["change"],
      deleted: ["delete"],
      truncated: false,
    });
  });

  it("does not take the half of a file that is being written for a file", async () => {
    const workspace = await open();
    let halfway: () => void = () => undefined;
    const seen = new Promise<void>((resolve) => {
      halfway = resolve;
    });
    const source = async function* () {
      yield Buffer.alloc(200_000);
      await seen;
      yield "end";
    };
    const writing = workspace.writeStream("slow.bin", source());
    await expect.poll(() => readdirSync(root).length).toBe(1);
    const during = await workspace.snapshot();
    halfway();
    await writing;
    writeFileSync(join(root, "slow.bin.skerry-7"), "a program's own");
    if (!isDirect) expect([...during.files.keys()]).toEqual([]);
    expect([...(await workspace.snapshot()).files.keys()].sort()).toEqual(["slow.bin", "slow.bin.skerry-7"]);
  });

  it("takes the files of a call in, and brings those of its patterns out", async () => {
    const workspace = await open();
    await putInputFiles(workspace, [
      { path: "in/a.csv", content: "1,2" },
      { path: "in/run.sh", content: "#!/bin/sh", mode: 0o755 },
    ]);
    await expect(
      putInputFiles(workspace, [
        { path: "new", content: "" },
        { path: "../x", content: "" },
      ]),
    ).rejects.toThrow(PathTraversalError);
    expect(existsSync(join(root, "new"))).toBe(false);
    symlinkSync(join(outside, "secret.txt"), join(root, "in/link.csv"));
    writeFileSync(join(root, "in/big.csv"), Buffer.alloc(1000));
    const { files, skipped, truncated } = await collectOutputFiles(
      workspace,
      ["in/*.csv", "missing", "in/run.sh"],
      { maxBytes: 100 },
    );
    expect(files.map(({ path, content }) => [path, content.toString()])).toEqual([
      ["in/a.csv", "1,2"],
      ["in/run.sh", "#!/bin/sh"],
    ]);
    expect(skipped.map(({ path, code }) => [path, code])).toEqual([
      ["in/big.csv", "FILE_TOO_LARGE"],
      ["in/link.csv", "PATH_TRAVERSAL"],
      ["missing", "FILE_NOT_FOUND"],
    ]);
    expect(truncated).toBe(false);
  });

  it("fills a new workspace: init, skills, links, modes, and what denyWrite protects", async () => {
    const source = join(base, "source");
    mkdirSync(join(source, "init/empty/deeper"), { recursive: true });
    mkdirSync(join(source, "skills/one"), { recursive: true });
    for (let index = 0; index < 20; index++) writeFileSync(join(source, `init/f${index}`), String(index));
    writeFileSync(join(source, "init/.env"), "KEY=1");
    writeFileSync(join(source, "init/run.sh"), "#!/bin/sh");
    chmodSync(join(source, "init/run.sh"), 0o750);
    writeFileSync(join(source, "skills/one/SKILL.md"), "# one");
    symlinkSync("../f1", join(source, "init/empty/link"));
    writeFileSync(join(source, "AGENTS.md"), "not copied: there is an init directory");
    const workspace = await open({ denyWrite: [".env"] });
    expect(await bootstrapWorkspace({ sourceRoot: source, workspace, bootstrapFiles: ["AGENTS.md"] })).toBe(
      24,
    );
    expect(readFileSync(join(root, "f19"), "utf8")).toBe("19");
    expect(readFileSync(join(root, ".env"), "utf8")).toBe("KEY=1");
    expect(statSync(join(root, "run.sh")).mode & 0o777).toBe(0o750);
    expect(readlinkSync(join(root, "empty/link"))).toBe("../f1");
    expect(readFileSync(join(root, "skills/one/SKILL.md"), "utf8")).toBe("# one");
    expect(existsSync(join(root, "empty/deeper"))).toBe(true);
    expect(existsSync(join(root, "AGENTS.md"))).toBe(false);
  });

  it("copies only the bootstrap files that exist when there is no init directory", async () => {
    const source = join(base, "source");
    mkdirSync(join(source, "docs"), { recursive: true });
    writeFileSync(join(source, "AGENTS.md"), "agents");
    writeFileSync(join(source, "docs/SOUL.md"), "soul");
    const workspace = await open();
    const bootstrapFiles = ["AGENTS.md", "docs/SOUL.md", "USER.md"];
    expect(await bootstrapWorkspace({ sourceRoot: source, workspace, bootstrapFiles })).toBe(2);
    expect(readFileSync(join(root, "docs/SOUL.md"), "utf8")).toBe("soul");
  });

  it("does not fill a workspace through a link of its own source", async () => {
    const source = join(base, "source");
    mkdirSync(join(source, "init/other"), { recursive: true });
    mkdirSync(join(source, "skills/one"), { recursive: true });
    symlinkSync("other", join(source, "init/skills"));
    writeFileSync(join(source, "skills/one/SKILL.md"), "# one");
    const workspace = await open();
    await expect(bootstrapWorkspace({ sourceRoot: source, workspace })).rejects.toThrow(PathTraversalError);
    expect(readdirSync(join(root, "other"))).toEqual([]);
    rmSync(join(source, "init"), { recursive: true });
    symlinkSync("../../outside", join(source, "skills/one/leaves"));
    await expect(bootstrapWorkspace({ sourceRoot: source, workspace })).rejects.toThrow(PathTraversalError);
  });

  it("says that the disk is full, and leaves no half of a file", async (context) => {
    try {
      execFileSync("mount", ["-t", "tmpfs", "-o", "size=64k", "tmpfs", root], { stdio: "ignore" });
    } catch {
      console.log("skipped: mounting a tiny tmpfs needs root");
      return context.skip("mounting a tiny tmpfs needs root");
    }
    try {
      const workspace = await open();
      const large = Buffer.alloc(256 * 1024, 1);
      await workspace.writeFile("kept", "old");
      await expect(workspace.writeFile("kept", large)).rejects.toThrow(failsWith("DISK_FULL"));
      await expect(workspace.writeNew("new", large)).rejects.toThrow(failsWith("DISK_FULL"));
      await expect(workspace.writeStream("stream", [large])).rejects.toThrow(failsWith("DISK_FULL"));
      expect((await workspace.readFile("kept")).toString()).toBe("old");
      await expect.poll(() => readdirSync(root)).toEqual(["kept"]);
      workspace.close();
    } finally {
      await guest?.stop();
      guest = undefined;
      execFileSync("umount", [root]);
    }
  });
});

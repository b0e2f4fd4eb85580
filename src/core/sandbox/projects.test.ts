import { execFileSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { beforeEach, expect } from "vitest";
import { cleanUp, temporaryDirectory } from "../../../test/setup/clean-up.js";
import { requires } from "../../../test/setup/requires.js";
import { parseConfig } from "../config/index.js";
import { Sandbox, type SandboxOptions } from "./index.js";

const { describe, it } = requires("linux", "bubblewrap", "python3");

let root: string;
let project: string;
beforeEach(() => {
  root = temporaryDirectory();
  project = join(root, "project");
  mkdirSync(project);
});

function put(files: Readonly<Record<string, string>>, at = project): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(at, path)), { recursive: true });
    writeFileSync(join(at, path), text);
  }
}

async function open(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await Sandbox.create({
    stateDir: join(root, "state"),
    backend: "bubblewrap",
    mounts: [{ source: project }],
    ...options,
  });
  cleanUp(() => sandbox.delete());
  return sandbox;
}

/** Runs Python inside: hostile things are said in no shell. */
async function python(sandbox: Sandbox, code: string): Promise<string> {
  const result = await sandbox.runCode(code, { language: "python" });
  expect(result).toMatchObject({ success: true, stderr: "" });
  return result.stdout;
}

const brief = (changes: readonly { change: string; path: string }[]) =>
  changes.map(({ change, path }) => `${change} ${path}`);
const code = (expected: string) => expect.objectContaining({ code: expected });

describe("a directory that is copied in", () => {
  it("is there with its modes and links, without git, ignored files, secrets and what leads out", async () => {
    put({
      "main.py": "import pkg.helper",
      "pkg/helper.py": "print('helped')",
      "run.sh": "#!/bin/sh\n",
      ".git/config": "[core]",
      ".gitignore": "dist/\n*.log\n",
      "dist/x": "x",
      "a.log": "x",
      ".env": "KEY=1",
      ".env.example": "KEY=",
      "certs/server.pem": "x",
      ".npmrc": "//registry/:_authToken=x",
      "sub/.npmrc": "save-exact=true",
      ".ssh/id_ed25519": "x",
      "pkg/__pycache__/helper.pyc": "x",
    });
    chmodSync(join(project, "run.sh"), 0o755);
    symlinkSync("main.py", join(project, "inner"));
    symlinkSync("/etc/passwd", join(project, "outer"));
    symlinkSync("../secret", join(project, "up"));
    execFileSync("mkfifo", [join(project, "fifo")]);
    const sandbox = await open();
    expect((await sandbox.exec(["python3", "main.py"])).stdout).toBe("helped\n");
    const paths = (await sandbox.exec("find . -not -type d -not -path '*/__pycache__/*' | sort")).stdout;
    expect(paths.trim().split("\n")).toEqual(
      [".env.example", ".gitignore", "inner", "main.py", "pkg/helper.py", "run.sh", "sub/.npmrc"].map(
        (path) => `./${path}`,
      ),
    );
    expect((await sandbox.exec("stat -c %a run.sh main.py; readlink inner; echo 1 >> main.py")).stdout).toBe(
      "755\n644\nmain.py\n",
    );
  });

  it.each<[string, () => string, string]>([
    ["the root", () => "/", "INVALID_ARGUMENT"],
    ["/proc", () => "/proc", "INVALID_ARGUMENT"],
    ["a process's view of the root", () => "/proc/self/root", "INVALID_ARGUMENT"],
    ["the home directory", () => process.env["HOME"]!, "INVALID_ARGUMENT"],
    ["Skerry's own directory", () => join(root, "state"), "INVALID_ARGUMENT"],
    ["sessions in it, by a link", () => join(project, "link"), "INVALID_ARGUMENT"],
    ["a file", () => join(project, "file"), "FILE_TYPE"],
    ["nothing", () => join(project, "missing"), "FILE_NOT_FOUND"],
  ])("is not %s", async (_, source, expected) => {
    put({ file: "" });
    symlinkSync(join(root, "state/sessions"), join(project, "link"));
    const name = "refused";
    await expect(open({ sessionId: name, mounts: [{ source: source() }] })).rejects.toThrow(code(expected));
    expect(existsSync(join(root, "state/sessions")) ? readdirSync(join(root, "state/sessions")) : []).toEqual(
      [],
    );
  });

  it.each(["repo/.git", "repo/.git/hooks", "bare", "bare/hooks", ".ssh", ".AWS", ".docker/x"])(
    "is not git's own, or one of secrets: %s",
    async (path) => {
      mkdirSync(join(project, "repo/.git/hooks"), { recursive: true });
      for (const name of ["objects", "refs", "hooks"])
        mkdirSync(join(project, "bare", name), { recursive: true });
      put({ "bare/HEAD": "ref: refs/heads/main\n", ".ssh/a": "1", ".AWS/a": "1", ".docker/x/a": "1" });
      await expect(open({ mounts: [{ source: join(project, path) }] })).rejects.toThrow(
        code("INVALID_ARGUMENT"),
      );
    },
  );

  it("leaves out what .git/info/exclude names, at the top, in a worktree and below", async () => {
    put({ ".git/info/exclude": "*.skip\n", ".git/worktrees/w/commondir": "../..\n", "a.skip": "x", a: "1" });
    put({ "w/.git": `gitdir: ${join(project, ".git/worktrees/w")}\n`, "w/b.skip": "x", "w/b": "1" }, root);
    const paths = async (source: string) => {
      const sandbox = await open({ mounts: [{ source }] });
      return (await sandbox.exec(["ls"])).stdout;
    };
    expect(await paths(project)).toBe("a\n");
    expect(await paths(join(root, "w"))).toBe("b\n");
  });

  it("has the rules of the .gitignore above, both ways, and of one that begins with a byte order mark", async () => {
    mkdirSync(join(project, ".git"));
    put({ ".gitignore": "\uFEFF*.log\n", "sub/a": "1", "sub/a.log": "x" });
    const sandbox = await open({ mounts: [{ source: join(project, "sub") }] });
    expect((await sandbox.exec("ls; touch b.log")).stdout).toBe("a\n");
    expect(await sandbox.projects.changes()).toMatchObject({
      changes: [],
      leftOut: [{ path: "b.log", why: "ignored" }],
    });
  });

  it("has a size and a number of files that it may not exceed", async () => {
    put({ a: "12345", b: "1", c: "1" });
    const config = async (projects: object) => parseConfig({ sandbox: { projects } }, "test");
    await expect(open({ config: await config({ maxBytes: "6b" }) })).rejects.toThrow(code("FILE_TOO_LARGE"));
    await expect(open({ config: await config({ maxFiles: 2 }) })).rejects.toThrow(code("FILE_TOO_LARGE"));
    await open({ config: await config({ maxBytes: "7b", maxFiles: 3 }) });
  });

  it("is brought up to date where nothing inside has changed, and left where something has", async () => {
    put({ a: "1", gone: "1" });
    const sandbox = await open({ sessionId: "again" });
    await sandbox.close();
    put({ a: "2" });
    rmSync(join(project, "gone"));
    const { SandboxManager } = await import("../manager/index.js");
    await using manager = new SandboxManager({ stateDir: join(root, "state"), backend: "bubblewrap" });
    expect(await manager.copyIn("again", [{ source: project }])).toMatchObject([
      { isCopied: true, files: 1 },
    ]);
    const handle = await manager.getSandbox("again");
    expect((await handle.exec("cat a; ls; echo 3 > a")).stdout).toBe("2a\n");
    expect(await manager.copyIn("again", [{ source: project }])).toMatchObject([{ isCopied: false }]);
    expect((await handle.exec("cat a")).stdout).toBe("3\n");
  });
});

describe("a copy that was killed", () => {
  it("is known from its first file on, and is finished by the next mount", async () => {
    for (let count = 0; count < 300; count++) put({ [`d/${count}`]: "1" });
    const stateDir = join(root, "state");
    const { SandboxManager } = await import("../manager/index.js");
    await using manager = new SandboxManager({ stateDir, backend: "bubblewrap" });
    const handle = await manager.getSandbox("killed");
    await handle.exec(["true"]);
    const [session] = readdirSync(join(stateDir, "sessions"));
    const record = join(stateDir, "sessions", session!, "projects/projects.json");
    const copying = manager.copyIn("killed", [{ source: project }]);
    while (!existsSync(record)) await new Promise(setImmediate);
    const atFirst = readFileSync(record, "utf8");
    await copying;
    // As a kill would leave it.
    writeFileSync(record, atFirst);
    await handle.exec("rm d/7; echo half > d/8");
    await expect(handle.projects.changes()).rejects.toThrow(code("CONFLICT"));
    rmSync(join(project, "d/9"));
    put({ "d/9/now": "1" });
    expect(await manager.copyIn("killed", [{ source: project }])).toMatchObject([
      { isCopied: true, files: 300 },
    ]);
    expect((await handle.exec(["cat", "d/7", "d/8", "d/9/now"])).stdout).toBe("111");
    expect((await handle.projects.changes()).changes).toEqual([]);
  });
});

describe("changes", () => {
  it("are a patch that git applies, and are applied, file by file", async () => {
    put({
      "a.txt": "1\n2\n3\n",
      "gone.txt": "x\n",
      "dir/only.txt": "x\n",
      "same.txt": "x\n",
      "no-newline": "x",
      "run.sh": "#!/bin/sh\n",
      "bin.dat": "\0",
    });
    const reference = join(root, "reference");
    execFileSync("cp", ["-a", project, reference]);
    const sandbox = await open();
    expect((await sandbox.projects.changes()).changes).toEqual([]);
    await python(
      sandbox,
      `
import os
open("a.txt", "a").write("4\\n")
os.remove("gone.txt"); os.remove("dir/only.txt"); os.rmdir("dir")
os.makedirs("new/deep"); open("new/deep/f\\u00e9 \\"q\\".txt", "w").write("n")
open("no-newline", "w").write("y\\nz")
os.chmod("run.sh", 0o4777)
os.symlink("a.txt", "link")
os.utime("same.txt", (0, 0))
open("empty", "w").close()
`,
    );
    const found = await sandbox.projects.changes();
    expect(brief(found.changes)).toEqual([
      "modified a.txt",
      "deleted dir/only.txt",
      "created empty",
      "deleted gone.txt",
      "created link",
      'created new/deep/fé "q".txt',
      "modified no-newline",
      "modified run.sh",
    ]);
    expect(found.conflicts).toEqual([]);
    execFileSync("git", ["apply", "-"], { cwd: reference, input: found.patch });
    expect(await sandbox.projects.apply({ id: found.id })).toEqual({
      written: ["a.txt", "empty", "link", 'new/deep/fé "q".txt', "no-newline", "run.sh"],
      removed: ["gone.txt", "dir/only.txt"],
      unchanged: [],
    });
    expect(execFileSync("diff", ["-r", project, reference], { encoding: "utf8" })).toBe("");
    expect(statSync(join(project, "run.sh")).mode & 0o7777).toBe(0o755);
    expect(readlinkSync(join(project, "link"))).toBe("a.txt");
    expect(existsSync(join(project, "dir"))).toBe(false);
    expect((await sandbox.projects.changes()).changes).toEqual([]);
  });

  it("are not applied, none of them, where the directory was changed meanwhile", async () => {
    put({ a: "1\n", b: "1\n", c: "1\n" });
    const sandbox = await open();
    await python(sandbox, `for name in "abcd": open(name, "w").write("inside\\n")`);
    put({ b: "outside\n", d: "outside\n", e: "untouched\n" });
    rmSync(join(project, "c"));
    const { conflicts } = await sandbox.projects.changes();
    expect(conflicts).toEqual([
      { path: "b", why: "was changed outside" },
      { path: "c", why: "was removed outside" },
      { path: "d", why: "is there outside, and was not copied in" },
    ]);
    await expect(sandbox.projects.apply()).rejects.toThrow(code("CONFLICT"));
    expect(readFileSync(join(project, "a"), "utf8")).toBe("1\n");
    put({ b: "1\n", c: "1\n", d: "inside\n" });
    expect(await sandbox.projects.apply()).toEqual({
      written: ["a", "b", "c"],
      removed: [],
      unchanged: ["d"],
    });
  });

  it("are only those that were looked at", async () => {
    put({ a: "1" });
    const sandbox = await open();
    await python(sandbox, `open("a", "w").write("2")`);
    const { id } = await sandbox.projects.changes();
    await python(sandbox, `open("a", "w").write("3")`);
    await expect(sandbox.projects.apply({ id })).rejects.toThrow(code("CONFLICT"));
    expect(readFileSync(join(project, "a"), "utf8")).toBe("1");
  });

  it("writes what it showed, though the program goes on", async () => {
    put({ a: "1\n" });
    const { SandboxManager } = await import("../manager/index.js");
    await using manager = new SandboxManager({ stateDir: join(root, "state"), backend: "bubblewrap" });
    const sandbox = await manager.startSandbox("goes-on");
    await sandbox.projects.copyIn([{ source: project }]);
    await sandbox.exec(["sh", "-c", "echo shown > a"]);
    using staged = await sandbox.projects.changes();
    await sandbox.exec(["sh", "-c", "echo sneaked > a; echo sneaked > b"]);
    expect([...staged.show()].map(({ text }) => text).join("")).toContain("\n-1\n+shown\n");
    expect(await staged.apply()).toMatchObject({ written: ["a"] });
    expect(readFileSync(join(project, "a"), "utf8")).toBe("shown\n");
    expect(
      brief((await manager.startSandbox("goes-on").then(({ projects }) => projects.changes())).changes),
    ).toEqual(["modified a", "created b"]);
  });

  it("writes nothing where what is staged is not what was shown", async () => {
    put({ a: "1\n" });
    const { SandboxManager } = await import("../manager/index.js");
    await using manager = new SandboxManager({ stateDir: join(root, "state"), backend: "bubblewrap" });
    const sandbox = await manager.startSandbox("staged");
    await sandbox.projects.copyIn([{ source: project }]);
    await sandbox.exec(["sh", "-c", "echo shown > a"]);
    using staged = await sandbox.projects.changes();
    const [session] = readdirSync(join(root, "state/sessions"));
    const kept = join(root, "state/sessions", session!, "projects");
    const [stage] = readdirSync(kept).filter((name) => name.startsWith("staged-"));
    for (const name of readdirSync(join(kept, stage!))) writeFileSync(join(kept, stage!, name), "other\n");
    await expect(staged.apply()).rejects.toThrow(code("CONFLICT"));
    expect(readFileSync(join(project, "a"), "utf8")).toBe("1\n");
    expect(readdirSync(project)).toEqual(["a"]);
  });

  it("can be dropped, whatever was made of the files", async () => {
    put({ a: "1", "d/f": "1", "d/g": "1", "run.sh": "x" });
    chmodSync(join(project, "run.sh"), 0o755);
    symlinkSync("a", join(project, "l"));
    const sandbox = await open();
    await python(
      sandbox,
      `
import os, shutil
shutil.rmtree("d"); os.symlink("/etc", "d")
os.remove("a"); os.makedirs("a/b"); open("a/b/c", "w").write("x")
os.remove("l"); open("l", "w").write("x")
os.chmod("run.sh", 0o600)
os.makedirs("n/m"); open("n/m/o", "w").write("x")
`,
    );
    expect((await sandbox.projects.changes()).changes.length).toBeGreaterThan(5);
    await sandbox.projects.discard();
    expect((await sandbox.projects.changes()).changes).toEqual([]);
    expect((await sandbox.exec("cat a d/f d/g; readlink l; stat -c %a run.sh; ls")).stdout).toBe(
      "111a\n755\na\nd\nl\nrun.sh\n",
    );
  });

  it("are compared with what was copied in at the snapshot that is restored", async () => {
    put({ a: "1", b: "1" });
    const { SandboxManager } = await import("../manager/index.js");
    await using manager = new SandboxManager({ stateDir: join(root, "state"), backend: "bubblewrap" });
    const handle = await manager.getSandbox("restored");
    const empty = await handle.snapshots.create();
    await manager.copyIn("restored", [{ source: project }]);
    await handle.exec("echo inside > b");
    const snapshot = await handle.snapshots.create();
    await handle.projects.apply();
    put({ a: "the person's own work" });
    await manager.copyIn("restored", [{ source: project }]);
    await handle.snapshots.restore(snapshot);
    const found = await handle.projects.changes();
    expect([brief(found.changes), found.conflicts]).toEqual([["modified b"], []]);
    await handle.projects.apply();
    expect(readFileSync(join(project, "a"), "utf8")).toBe("the person's own work");
    await handle.snapshots.restore(empty);
    await expect(handle.projects.apply()).rejects.toThrow(code("NOT_FOUND"));
    expect(readdirSync(project)).toEqual(["a", "b"]);
  });

  it("can be looked at and dropped when the directory is gone", async () => {
    put({ a: "1" });
    const sandbox = await open();
    await python(sandbox, `open("a", "w").write("2")`);
    rmSync(project, { recursive: true });
    const { patch, conflicts } = await sandbox.projects.changes();
    expect([patch.includes("+2"), conflicts.map(({ path }) => path)]).toEqual([true, ["a"]]);
    await expect(sandbox.projects.apply()).rejects.toThrow(code("FILE_NOT_FOUND"));
    await sandbox.projects.discard();
    expect((await sandbox.projects.changes()).changes).toEqual([]);
  });

  it("can be dropped where links and special files stand for files", async () => {
    put({ a: "1", b: "1", c: "1", d: "1", "e/f": "1" });
    const sandbox = await open();
    await python(
      sandbox,
      `
import os
for name in "abcd": os.remove(name)
os.symlink("/etc/passwd", "a"); os.symlink("../x", "b"); os.mkfifo("c")
open("e/f", "w").write("2")
`,
    );
    await sandbox.projects.discard();
    expect((await sandbox.exec(["cat", "a", "b", "c", "d", "e/f"])).stdout).toBe("11111");
  });

  it("turn files into directories and back, in either direction", async () => {
    put({ file: "1", "dir/x": "1", "dir/y/z": "1", away: "1" });
    symlinkSync("away", join(project, "link"));
    const { SandboxManager } = await import("../manager/index.js");
    await using manager = new SandboxManager({ stateDir: join(root, "state"), backend: "bubblewrap" });
    const sandbox = await manager.getSandbox("kinds", { mounts: [{ source: project }] });
    await python(
      sandbox as unknown as Sandbox,
      `
import os, shutil
os.remove("file"); os.mkdir("file"); open("file/in", "w").write("2")
os.remove("link"); os.mkdir("link"); open("link/in", "w").write("2")
shutil.rmtree("dir"); open("dir", "w").write("2")
`,
    );
    put({ "dir/only-outside": "x" });
    expect((await sandbox.projects.changes()).conflicts.map(({ path }) => path)).toEqual(["dir"]);
    rmSync(join(project, "dir/only-outside"));
    expect((await sandbox.projects.changes()).conflicts).toEqual([]);
    await sandbox.projects.apply();
    expect(["file/in", "link/in", "dir"].map((path) => readFileSync(join(project, path), "utf8"))).toEqual([
      "2",
      "2",
      "2",
    ]);
    for (const path of ["file", "link", "dir"]) rmSync(join(project, path), { recursive: true });
    put({ file: "3", "dir/x": "3", link: "3" });
    expect(await manager.copyIn("kinds", [{ source: project }])).toMatchObject([{ isCopied: true }]);
    expect((await sandbox.exec(["cat", "file", "dir/x", "link"])).stdout).toBe("333");
    expect((await sandbox.projects.changes()).changes).toEqual([]);
  });

  it("keep the directories that are there on both sides, and whose the files are", async () => {
    put({ "d/old": "1", "gone/x": "1", "stays/x": "1", own: "1" });
    chmodSync(join(project, "d"), 0o2750);
    const isRoot = process.geteuid?.() === 0;
    if (isRoot) {
      chownSync(join(project, "d"), 1234, 1235);
      chownSync(join(project, "own"), 1236, 1237);
    }
    chmodSync(join(project, "d"), 0o2750);
    const before = statSync(join(project, "d"));
    const sandbox = await open();
    await python(
      sandbox,
      `
import os
os.rename("d/old", "d/new"); os.remove("gone/x"); os.rmdir("gone"); os.remove("stays/x")
open("own", "w").write("2"); os.makedirs("d/deep"); open("d/deep/x", "w").write("2")
`,
    );
    await sandbox.projects.apply();
    const now = statSync(join(project, "d"));
    expect([now.ino, now.mode, now.uid, now.gid]).toEqual([before.ino, before.mode, before.uid, before.gid]);
    expect([existsSync(join(project, "gone")), existsSync(join(project, "stays"))]).toEqual([false, true]);
    const owners = ["own", "d/new", "d/deep", "d/deep/x"].map((path) => statSync(join(project, path)).uid);
    if (isRoot) expect(owners).toEqual([1236, 1234, 1234, 1234]);
  });

  it("are told of each of several directories, which do not overlap", async () => {
    put({ a: "1" });
    put({ b: "1" }, join(root, "other"));
    const mounts = [
      { source: project, target: "one" },
      { source: join(root, "other"), target: "/workspace/two/x" },
    ];
    const sandbox = await open({ mounts });
    await python(sandbox, `open("two/x/b", "w").write("2"); open("beside", "w").write("x")`);
    await expect(sandbox.projects.changes()).rejects.toThrow(code("INVALID_ARGUMENT"));
    expect((await sandbox.projects.changes({ target: "one" })).changes).toEqual([]);
    expect(brief((await sandbox.projects.changes({ target: "two/x" })).changes)).toEqual(["modified b"]);
    await expect(open({ mounts: [...mounts, { source: project, target: "one/in" }] })).rejects.toThrow(
      code("INVALID_ARGUMENT"),
    );
    await expect(open({ mounts: [{ source: project, target: "../up" }] })).rejects.toThrow(
      code("PATH_TRAVERSAL"),
    );
  });
});

describe("a hostile guest", () => {
  it("gets nothing out through links, special files, git's names and modes", async () => {
    put({ "src/a": "1", "src/b": "1", keep: "1" });
    mkdirSync(join(project, ".git/hooks"), { recursive: true });
    const sandbox = await open();
    await python(
      sandbox,
      `
import os, socket
os.symlink("/etc/passwd", "absolute"); os.symlink("../../etc", "up"); os.symlink("src/../../x", "through")
os.symlink(".git/hooks", "hooks"); os.symlink("../.GIT", "src/git")
os.mkfifo("fifo"); socket.socket(socket.AF_UNIX).bind("sock")
os.remove("src/a"); os.symlink("/etc/shadow", "src/a")
os.remove("src/b"); os.mkfifo("src/b")
for name in (".git", ".GIT", ".gi\\u200ct"):
    os.makedirs(name + "/hooks"); open(name + "/hooks/pre-commit", "w").write("#!/bin/sh")
open("setuid", "w").write("x"); os.chmod("setuid", 0o7777)
open("hard", "w").write("x"); os.link("hard", "hard2")
open("unreadable", "w").write("x"); os.chmod("unreadable", 0)
`,
    );
    const found = await sandbox.projects.changes();
    const left = (why: string) =>
      found.leftOut
        .filter((each) => each.why === why)
        .map(({ path }) => path)
        .sort();
    expect(left("link")).toEqual(["absolute", "hooks", "src/a", "src/git", "through", "up"]);
    expect(left("special")).toEqual(["fifo", "sock", "src/b"]);
    expect(left("git")).toHaveLength(3);
    await sandbox.projects.apply();
    const files = execFileSync("find", [".", "-not", "-type", "d"], { cwd: project, encoding: "utf8" });
    expect(
      files
        .split("\n")
        .filter((path) => !path.includes("unreadable"))
        .sort(),
    ).toEqual(["", "./hard", "./hard2", "./keep", "./setuid", "./src/a", "./src/b"]);
    expect(readFileSync(join(project, "src/a"), "utf8")).toBe("1");
    expect(statSync(join(project, "setuid")).mode & 0o7000).toBe(0);
    expect(statSync(join(project, "hard")).nlink).toBe(1);
  });

  it.each<[string, string[], string[]]>([
    ["whole", [], ["HEAD", "refs/.keep", "objects/.keep", "config"]],
    ["in other letters", [], ["head", "REFS/.keep", "Objects/.keep", "config"]],
    ["of which the rest is outside", ["HEAD", "refs/.keep"], ["objects/.keep", "config"]],
    ["that is there", ["HEAD", "refs/.keep", "objects/.keep"], ["config", "hooks/pre-commit"]],
    ["whose parts are elsewhere", [], ["HEAD", "commondir", "config"]],
  ])("makes no directory a repository: %s", async (_, there, made) => {
    put({ keep: "1" });
    const sandbox = await open();
    put(Object.fromEntries(there.map((name) => [`tools/x/${name}`, "ref: refs/heads/main\n"])));
    await python(
      sandbox,
      `
import os
for name in ${JSON.stringify(made)}:
    os.makedirs(os.path.dirname("tools/x/" + name), exist_ok=True); open("tools/x/" + name, "w").write("x")
open("keep", "w").write("2")
`,
    );
    const { conflicts } = await sandbox.projects.changes();
    expect(conflicts).toHaveLength(made.length);
    expect(conflicts[0]?.why).toContain("git repository");
    await expect(sandbox.projects.apply()).rejects.toThrow(code("CONFLICT"));
    expect(readFileSync(join(project, "keep"), "utf8")).toBe("1");
    expect(existsSync(join(project, "tools/x/config"))).toBe(false);
    await sandbox.files.getDirectory("tools", join(root, "out"));
    expect(existsSync(join(root, "out/x/config"))).toBe(there.length > 0);
  });

  it("reaches no file through a directory that became a link outside", async () => {
    put({ "src/a": "1", "src/b": "1" });
    put({ a: "1", b: "1" }, join(root, "elsewhere"));
    const sandbox = await open();
    await python(sandbox, `open("src/a", "w").write("2"); open("src/new", "w").write("2")`);
    const { id } = await sandbox.projects.changes();
    renameSync(join(project, "src"), join(root, "away"));
    symlinkSync(join(root, "elsewhere"), join(project, "src"));
    await expect(sandbox.projects.apply({ id })).rejects.toThrow(code("CONFLICT"));
    expect(readdirSync(join(root, "elsewhere"))).toEqual(["a", "b"]);
    expect(readFileSync(join(root, "elsewhere/a"), "utf8")).toBe("1");

    rmSync(join(project, "src"));
    renameSync(project, join(root, "moved"));
    symlinkSync(join(root, "elsewhere"), project);
    await expect(sandbox.projects.apply()).rejects.toThrow(code("CONFLICT"));
    expect(lstatSync(join(root, "elsewhere/a")).size).toBe(1);
  });

  it("cannot replace what only the host has: a secret, an ignored file, a FIFO", async () => {
    put({ ".env": "SECRET", "x.log": "x", ".gitignore": "*.log\n" });
    execFileSync("mkfifo", [join(project, "pipe")]);
    const sandbox = await open();
    await python(
      sandbox,
      `
for name in (".env", "x.log", "pipe"): open(name, "w").write("mine")
open(".gitignore", "w").write("")
`,
    );
    const found = await sandbox.projects.changes();
    expect(found.leftOut).toContainEqual({ path: "x.log", why: "ignored" });
    expect(found.conflicts.map(({ path }) => path)).toEqual([".env", "pipe"]);
    await expect(sandbox.projects.apply()).rejects.toThrow(code("CONFLICT"));
    expect(readFileSync(join(project, ".env"), "utf8")).toBe("SECRET");
  });

  it("cannot fill or hold up the host with many files, huge ones, or texts that take long to compare", async () => {
    put({ a: "1" });
    const config = await parseConfig({ sandbox: { projects: { maxFiles: 100, maxBytes: "3mb" } } }, "test");
    const sandbox = await open({ config });
    await python(sandbox, `for n in range(200): open(f"f{n}", "w").close()`);
    await expect(sandbox.projects.changes()).rejects.toThrow(code("FILE_TOO_LARGE"));
    await python(
      sandbox,
      `
import os
for n in range(200): os.remove(f"f{n}")
open("sparse", "w").truncate(200_000_000)
`,
    );
    await expect(sandbox.projects.changes()).rejects.toThrow(code("FILE_TOO_LARGE"));
    await python(
      sandbox,
      `
import os, random
os.remove("sparse")
open("a", "w").write("".join(random.choice("ab") + "\\n" for _ in range(400_000)))
`,
    );
    const { changes, patch } = await sandbox.projects.changes();
    expect(brief(changes)).toEqual(["modified a"]);
    expect(patch.split("\n").filter((line) => line.startsWith("+")).length).toBeGreaterThan(400_000);
  });

  it("has what it installs left out in one word, however much it is", async () => {
    put({ a: "1", ".gitignore": "node_modules/\n" });
    const sandbox = await open();
    await python(
      sandbox,
      `
import os
for directory in ("node_modules/x/y", ".cache/pip"):
    os.makedirs(directory)
    for n in range(3000): open(f"{directory}/{n}", "w").close()
`,
    );
    expect(await sandbox.projects.changes()).toMatchObject({
      changes: [],
      leftOut: expect.arrayContaining([
        { path: ".cache", why: "cache" },
        { path: "node_modules", why: "ignored" },
      ]),
    });
    expect((await sandbox.projects.changes()).leftOut).toHaveLength(2);
  });

  it("leaves nothing of what was compared behind, and cannot read what is remembered", async () => {
    put({ a: "1" });
    const sandbox = await open({ sessionId: "tidy" });
    await python(sandbox, `open("a", "w").write("2")`);
    await sandbox.projects.changes();
    const [name] = readdirSync(join(root, "state/sessions"));
    const kept = join(root, "state/sessions", name!, "projects");
    expect(readdirSync(kept).sort()).toEqual(["blobs", "projects.json", "writer"]);
    expect(statSync(kept).mode & 0o777).toBe(0o700);
    const seen = await sandbox.exec(["cat", join(kept, "projects.json")]);
    expect(seen.success).toBe(false);
  });
});

it("says what acts on the host once it is applied", async () => {
  put({ "package.json": "{}", "b.py": "" });
  const sandbox = await open();
  await python(
    sandbox,
    `
import os
for name in (".envrc", "package.json", "Makefile", "b.py", "README", "readme"): open(name, "w").write("x")
os.makedirs(".vscode"); open(".vscode/tasks.json", "w").write("x")
os.chmod("b.py", 0o755)
`,
  );
  const { changes } = await sandbox.projects.changes();
  expect(changes.map(({ path, note }) => [path, note])).toEqual([
    [".envrc", expect.stringContaining("direnv")],
    [".vscode/tasks.json", expect.stringContaining("editor")],
    ["Makefile", "make runs it"],
    ["README", expect.stringContaining("only in case")],
    ["b.py", "it becomes executable"],
    ["package.json", expect.stringContaining("npm")],
    ["readme", expect.stringContaining("only in case")],
  ]);
});

describe("a directory that is copied once", () => {
  it("goes in without secrets, and comes out without what could act on the host", async () => {
    put({ "a/x": "1", ".env": "KEY", "run.sh": "#!/bin/sh\n" });
    chmodSync(join(project, "run.sh"), 0o755);
    const sandbox = await open({ mounts: [] });
    expect(await sandbox.files.putDirectory(project, "in/here")).toMatchObject({
      leftOut: [{ path: ".env", why: "secret" }],
    });
    await python(
      sandbox,
      `
import os
os.chdir("in/here")
os.symlink("a/x", "inner"); os.symlink("/etc", "outer"); os.mkfifo("fifo"); os.chmod("a/x", 0o4777)
os.makedirs(".git/hooks"); open(".git/hooks/post-checkout", "w").write("x")
`,
    );
    const out = join(root, "out");
    expect((await sandbox.files.getDirectory("in/here", out)).leftOut.map(({ path }) => path).sort()).toEqual(
      [".git", ".git/hooks", ".git/hooks/post-checkout", "fifo", "outer"],
    );
    expect(readdirSync(out).sort()).toEqual(["a", "inner", "run.sh"]);
    expect([join(out, "a/x"), join(out, "run.sh")].map((path) => statSync(path).mode & 0o7777)).toEqual([
      0o755, 0o755,
    ]);
    expect(readFileSync(join(out, "inner"), "utf8")).toBe("1");
    await expect(sandbox.files.getDirectory("in/here", out)).rejects.toThrow(code("FILE_EXISTS"));
    await expect(sandbox.files.getDirectory("in/here/a/x", join(root, "f"))).rejects.toThrow(
      code("FILE_TYPE"),
    );
  });
});

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  chmodSync,
  closeSync,
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { buildSync } from "esbuild";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { requires } from "../../../test/setup/requires.js";
import { waitUntil } from "../../kit/wait-until.js";
import { findPrebuilt } from "../backends/guest-runtime.js";
import { type AccessWatch, AccessWatcher } from "./access-watcher.js";

const PROGRAM = findPrebuilt().guest;
const PYTHON = "/usr/bin/python3";
/** The suite runs on busy machines. */
const PATIENT = { timeoutMs: 20_000 };
const LIMITS = { directories: 8192, depth: 64, paths: 1000, bytes: 262_000 };

let base: string;
let root: string;
let watcher: AccessWatcher;

beforeEach(() => {
  base = temporaryDirectory();
  root = join(base, "root");
  mkdirSync(root);
  watcher = new AccessWatcher(PROGRAM, PATIENT);
});

afterEach(() => {
  watcher.close();
});

function put(path: string, content = "content"): void {
  mkdirSync(join(root, path, ".."), { recursive: true });
  writeFileSync(join(root, path), content);
}

const read = (path: string) => readFileSync(join(root, path));

/** Watches the tree, and resolves when all of it is watched. */
async function watchRoot(limits?: Partial<typeof LIMITS>): Promise<AccessWatch> {
  const watch = watcher.watch(root, limits && { ...LIMITS, ...limits });
  await watch.take();
  return watch;
}

/** The processes that a process of ours has started. */
const children = (parent = process.pid) =>
  readdirSync(`/proc/${parent}/task`)
    .flatMap((task) => readFileSync(`/proc/${parent}/task/${task}/children`, "utf8").split(" "))
    .map(Number)
    .filter((pid) => pid > 0 && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--watch"));

/** Asks until nothing was missed any more. */
async function settle(watch: AccessWatch): Promise<void> {
  for (let attempt = 0; attempt < 10; attempt++) if ((await watch.take())?.truncated !== true) return;
  throw new Error("still truncated");
}

const only = (...files: string[]) => ({ files, truncated: false });
const atLeast = (...files: string[]) => ({ files, truncated: true });

/** Swaps two directories at once, which Node cannot. */
function exchange(one: string, other: string): void {
  const script = `import ctypes, sys
c = ctypes.CDLL(None, use_errno=True)
sys.exit(c.renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2) and ctypes.get_errno())`;
  execFileSync(PYTHON, ["-c", script, join(root, one), join(root, other)]);
}

describe("a watched directory", () => {
  it("says with its first answer that something may have been missed before it", async () => {
    put("file");
    const watch = watcher.watch(root);
    expect(await watch.take()).toEqual(atLeast());
    expect(await watch.take()).toEqual(only());
  });

  it("answers questions that are asked at once", async () => {
    put("file");
    const watch = await watchRoot();
    read("file");
    expect(await Promise.all([watch.take(), watch.take()])).toEqual([only("file"), only()]);
  });

  it("tells the files that were read, sorted, and each of them once", async () => {
    for (const path of ["b", "a/b/c/deep", "a/x", "never", "é"]) put(path);
    const watch = await watchRoot();
    for (const path of ["é", "b", "a/b/c/deep", "a/x", "b"]) read(path);
    expect(await watch.take()).toEqual(only("a/b/c/deep", "a/x", "b", "é"));
    expect(await watch.take()).toEqual(only());
    read("b");
    expect(await watch.take()).toEqual(only("b"));
  });

  it("tells a read while the file is still open, also for reading and writing", async () => {
    put("one");
    put("both");
    const watch = await watchRoot();
    const [one, both] = [openSync(join(root, "one"), "r"), openSync(join(root, "both"), "r+")];
    for (const fd of [one, both]) readSync(fd, Buffer.alloc(3));
    expect(await watch.take()).toEqual(only("both", "one"));
    for (const fd of [one, both]) closeSync(fd);
  });

  it("tells a file that is still open, once, since it may be mapped", async () => {
    put("a/file");
    const watch = await watchRoot();
    const fd = openSync(join(root, "a/file"), "r");
    renameSync(join(root, "a"), join(root, "b"));
    expect(await watch.take()).toEqual(only("b/file"));
    expect(await watch.take()).toEqual(only());
    closeSync(fd);
    expect(await watch.take()).toEqual(only());
  });

  requires("python3").it("tells a file that was read through a mapping only", async () => {
    put("mapped");
    const watch = await watchRoot();
    const script = `import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
print(mmap.mmap(fd, 0, prot=mmap.PROT_READ)[:])
os._exit(0)`;
    execFileSync(PYTHON, ["-c", script, join(root, "mapped")]);
    expect(await watch.take()).toEqual(only("mapped"));
  });

  it("does not tell what was only written, listed, looked at or removed", async () => {
    for (const path of ["appended", "directory/file", "removed", "kept"]) put(path);
    const watch = await watchRoot();
    put("written");
    appendFileSync(join(root, "appended"), "more");
    readdirSync(join(root, "directory"), { recursive: true });
    statSync(join(root, "kept"));
    renameSync(join(root, "kept"), join(root, "renamed"));
    const fd = openSync(join(root, "temporary"), "w");
    renameSync(join(root, "temporary"), join(root, "final"));
    closeSync(fd);
    rmSync(join(root, "removed"));
    expect(await watch.take()).toEqual(only());
  });

  it("tells a file by the name it was read by", async () => {
    put("a/file");
    mkdirSync(join(root, "b"));
    const watch = await watchRoot();
    linkSync(join(root, "a/file"), join(root, "b/link"));
    read("b/link");
    renameSync(join(root, "a/file"), join(root, "a/after"));
    read("a/after");
    rmSync(join(root, "a/after"));
    expect(await watch.take()).toEqual(only("a/after", "b/link"));
  });

  it("watches directories that are made or moved in later, with what is in them", async () => {
    const watch = await watchRoot();
    mkdirSync(join(root, "a/b/c"), { recursive: true });
    expect(await watch.take()).toEqual(only());
    put("a/b/c/file");
    read("a/b/c/file");
    expect(await watch.take()).toEqual(only("a/b/c/file"));
    mkdirSync(join(base, "elsewhere/x/y"), { recursive: true });
    writeFileSync(join(base, "elsewhere/x/y/file"), "");
    renameSync(join(base, "elsewhere"), join(root, "here"));
    expect(await watch.take()).toEqual(only());
    read("here/x/y/file");
    expect(await watch.take()).toEqual(only("here/x/y/file"));
  });

  it("follows renamed directories, however fast they are renamed again", async () => {
    for (const path of ["a/one", "a/b/c/two"]) put(path);
    mkdirSync(join(root, "x"));
    const watch = await watchRoot();
    const steps: [string, string][] = [
      ["a", "z"],
      ["z", "a"],
      ["a", "y"],
      ["y", "x/y"],
      ["x/y/b", "b"],
      ["b/c", "x/y/c"],
    ];
    read("a/one");
    for (const [from, to] of steps) renameSync(join(root, from), join(root, to));
    read("x/y/one");
    read("x/y/c/two");
    expect(await watch.take()).toEqual(only("a/one", "x/y/c/two", "x/y/one"));
  });

  it("tells every read by the path the file had at that moment", async () => {
    put("a/file");
    const watch = await watchRoot();
    const names = Array.from({ length: 100 }, (_, index) => `n${String(index).padStart(3, "0")}`);
    let current = "a";
    for (const name of names) {
      renameSync(join(root, current), join(root, name));
      read(`${name}/file`);
      current = name;
    }
    expect(await watch.take()).toEqual(only(...names.map((name) => `${name}/file`)));
  });

  requires("python3").it("follows two directories that change places", async () => {
    put("a/in/one");
    put("b/two");
    const watch = await watchRoot();
    exchange("a", "b");
    read("b/in/one");
    read("a/two");
    exchange("b/in", "a");
    read("a/one");
    read("b/in/two");
    expect(await watch.take()).toEqual(only("a/one", "a/two", "b/in/one", "b/in/two"));
  });

  it("lets go of directories that were moved out or removed", async () => {
    put("out/in/file");
    put("gone/file");
    const watch = await watchRoot();
    renameSync(join(root, "out"), join(base, "outside"));
    readFileSync(join(base, "outside/in/file"));
    rmSync(join(root, "gone"), { recursive: true });
    expect(await watch.take()).toEqual(only());
    put("gone/file");
    expect(await watch.take()).toEqual(only());
    read("gone/file");
    expect(await watch.take()).toEqual(only("gone/file"));
  });

  it("never follows a link", async () => {
    mkdirSync(join(base, "outside/in"), { recursive: true });
    writeFileSync(join(base, "outside/in/secret"), "");
    put("a/file");
    symlinkSync(join(base, "outside"), join(root, "a/link"));
    const watch = await watchRoot();
    symlinkSync("../../outside/in", join(root, "a/late"));
    renameSync(join(root, "a/link"), join(root, "a/moved"));
    expect(await watch.take()).toEqual(only());
    read("a/moved/in/secret");
    read("a/late/secret");
    read("a/file");
    expect(await watch.take()).toEqual(only("a/file"));
  });

  it("is not led astray by links in place of directories that it has yet to look at", async () => {
    const outside = join(base, "outside");
    mkdirSync(join(outside, "b/new"), { recursive: true });
    writeFileSync(join(outside, "b/new/secret"), "");
    put("a/b/file");
    const watch = await watchRoot();
    await waitUntil(() => children().length === 1);
    const [pid] = children();
    process.kill(pid!, "SIGSTOP");
    mkdirSync(join(root, "gone"));
    rmSync(join(root, "gone"), { recursive: true });
    symlinkSync(join(outside, "b/new"), join(root, "gone"));
    mkdirSync(join(root, "a/b/new"));
    renameSync(join(root, "a"), join(root, "z"));
    symlinkSync(outside, join(root, "a"));
    process.kill(pid!, "SIGCONT");
    expect(await watch.take()).toEqual(only());
    read("gone/secret");
    put("z/b/new/file");
    read("z/b/new/file");
    expect(await watch.take()).toEqual(only("z/b/new/file"));
  });

  it("does not watch a link in place of the directory", async () => {
    symlinkSync(root, join(base, "link"));
    expect(await watcher.watch(join(base, "link")).take()).toBeUndefined();
  });

  it("shows names that are not UTF-8 as a listing does", async () => {
    const bytes = (path: string) => Buffer.from(join(root, path), "latin1");
    mkdirSync(bytes("d\xff"));
    writeFileSync(bytes("d\xff/\xfe\n"), "");
    put(`${"long".repeat(60)}/${"name".repeat(60)}`);
    const watch = await watchRoot();
    readFileSync(bytes("d\xff/\xfe\n"));
    read(`${"long".repeat(60)}/${"name".repeat(60)}`);
    expect(await watch.take()).toEqual(only("d\ufffd/\ufffd\n", `${"long".repeat(60)}/${"name".repeat(60)}`));
  });

  it("gives every watch of one directory all of its reads", async () => {
    put("in/file");
    const [one, other, inner] = [watcher.watch(root), watcher.watch(root), watcher.watch(join(root, "in"))];
    for (const watch of [one, other, inner]) await watch.take();
    read("in/file");
    expect(await one.take()).toEqual(only("in/file"));
    await one.close();
    read("in/file");
    expect(await one.take()).toBeUndefined();
    expect(await other.take()).toEqual(only("in/file"));
    renameSync(join(root, "in"), join(root, "there"));
    read("there/file");
    expect(await other.take()).toEqual(only("there/file"));
    expect(await inner.take()).toEqual(only("file"));
  });

  it("tells the last reads of a directory that is gone, and then nothing more", async () => {
    put("file");
    const watch = await watchRoot();
    read("file");
    rmSync(root, { recursive: true });
    expect(await watch.take()).toEqual(only("file"));
    expect(await watch.take()).toBeUndefined();
    mkdirSync(root);
    put("file");
    read("file");
    // Another directory of the same name is not the one that was meant.
    expect(await watch.take()).toBeUndefined();
  });
});

describe("within its limits", () => {
  it.each([
    ["paths", { paths: 2 }],
    ["bytes", { bytes: 2 * "a/0\0".length + 3 }],
  ])("it tells the first files and that there are more: %s", async (_, limits) => {
    for (let index = 0; index < 5; index++) put(`a/${index}`);
    const watch = await watchRoot(limits);
    for (let index = 0; index < 5; index++) read(`a/${index}`);
    read("a/0");
    expect(await watch.take()).toEqual(atLeast("a/0", "a/1"));
    read("a/3");
    read("a/3");
    expect(await watch.take()).toEqual(only("a/3"));
  });

  it("it tells a thousand paths at most, and all of them", async () => {
    const names = Array.from({ length: 1001 }, (_, index) => `${"n".repeat(200)}${index + 1000}`);
    for (const name of names) put(name);
    const watch = await watchRoot();
    for (const name of names.slice(0, 1000)) read(name);
    expect(await watch.take()).toEqual(only(...names.slice(0, 1000)));
    for (const name of names) read(name);
    expect(await watch.take()).toEqual(atLeast(...names.slice(0, 1000)));
  });

  it("it watches so many directories, says that there are more, and sees when there are not", async () => {
    for (const name of ["a", "b", "c"]) put(`${name}/file`);
    put("file");
    const watch = await watchRoot({ directories: 3 });
    for (const path of ["file", "a/file", "b/file", "c/file"]) read(path);
    const taken = await watch.take();
    expect(taken).toMatchObject({ truncated: true });
    expect(taken?.files).toHaveLength(3);
    rmSync(join(root, "b"), { recursive: true });
    await settle(watch);
    for (const path of ["file", "a/file", "c/file"]) read(path);
    expect(await watch.take()).toEqual(only("a/file", "c/file", "file"));
  });

  it("it looks so deep, says that there is more, and sees when there is not", async () => {
    put("1/2/3/file");
    put("1/2/file");
    const watch = await watchRoot({ depth: 2 });
    read("1/2/3/file");
    read("1/2/file");
    expect(await watch.take()).toEqual(atLeast("1/2/file"));
    mkdirSync(join(root, "other"));
    renameSync(join(root, "1/2/3"), join(root, "other/3"));
    await settle(watch);
    read("other/3/file");
    expect(await watch.take()).toEqual(only("other/3/file"));
    renameSync(join(root, "other"), join(root, "1/2/other"));
    read("1/2/other/3/file");
    expect(await watch.take()).toEqual(atLeast());
  });

  it("it survives three thousand nested directories", async () => {
    const script = `import os, sys
os.chdir(sys.argv[1])
for _ in range(3000): os.mkdir("d"); os.chdir("d")
open("f", "w").close(); open("f").close()`;
    put("file");
    const watch = await watchRoot();
    execFileSync(PYTHON, ["-c", script, root]);
    read("file");
    const taken = await watch.take();
    expect(taken?.truncated).toBe(true);
    expect(taken?.files).toContain("file");
    execFileSync("rm", ["-rf", join(root, "d")]);
    await settle(watch);
    read("file");
    expect(await watch.take()).toEqual(only("file"));
  });

  requires("linux").it.each([
    ["instances", 0, undefined, undefined],
    ["watches", 0, undefined, undefined],
    ["watches", 1, atLeast("file"), only("file")],
  ])("it answers where the kernel grants too few %s (%i)", async (kind, count, first, after) => {
    const program = join(base, "limited");
    // A namespace of its own has limits of its own.
    const limited = `echo ${count} > /proc/sys/user/max_inotify_${kind}; exec ${PROGRAM} "$@"`;
    writeFileSync(program, `#!/bin/sh\nexec /usr/bin/unshare -U -r /bin/sh -c '${limited}' sh "$@"\n`);
    chmodSync(program, 0o755);
    put("file");
    put("a/file");
    const limitedWatcher = new AccessWatcher(program, PATIENT);
    try {
      const watch = limitedWatcher.watch(root);
      await watch.take();
      read("file");
      read("a/file");
      expect(await watch.take()).toEqual(first);
      rmSync(join(root, "a"), { recursive: true });
      await settle(watch);
      read("file");
      expect(await watch.take()).toEqual(after);
    } finally {
      limitedWatcher.close();
    }
  });
});

requires("root").describe("for an ordinary user", () => {
  it("says that it cannot see into a directory that is closed to it", async () => {
    const program = join(base, "ordinary");
    copyFileSync(PROGRAM, join(base, "guest"));
    const become = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    writeFileSync(program, `#!/bin/sh\nexec ${become} ${base}/guest "$@"\n`, { mode: 0o755 });
    for (const path of ["file", "a/file", "closed/file"]) put(path);
    chmodSync(join(root, "closed"), 0o700);
    const ordinary = new AccessWatcher(program, PATIENT);
    try {
      const watch = ordinary.watch(root);
      await watch.take();
      for (const path of ["file", "a/file", "closed/file"]) read(path);
      expect(await watch.take()).toEqual(atLeast("a/file", "file"));
      chmodSync(join(root, "closed"), 0o755);
      await settle(watch);
      read("closed/file");
      expect(await watch.take()).toEqual(only("closed/file"));
    } finally {
      ordinary.close();
    }
  });
});

type Step =
  | { readonly do: "read" | "make" | "remove"; readonly directory: number }
  | { readonly do: "move"; readonly directory: number; readonly into: number };

describe("whatever is done to the tree", () => {
  it("tells exactly the reads, by the paths of their moment", async () => {
    const at = fc.nat({ max: 20 });
    const step: fc.Arbitrary<Step> = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant("move" as const), directory: at, into: at }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant("read" as const), directory: at }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constantFrom("make", "remove"), directory: at }) },
    ) as fc.Arbitrary<Step>;
    let round = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        root = join(base, `round-${round++}`);
        // The first one is the tree itself.
        let directories = ["", "a", "a/b", "c"];
        for (const directory of directories) put(join(directory, "file"));
        const watch = await watchRoot();
        const told = new Set<string>();
        const expected = new Set<string>();
        let names = 0;
        for (const each of steps) {
          const directory = directories[each.directory % directories.length]!;
          const isRoot = directory === "";
          if (each.do === "read") {
            read(join(directory, "file"));
            expected.add(join(directory, "file"));
          } else if (each.do === "make") {
            const made = join(directory, `n${names++}`);
            put(join(made, "file"));
            directories.push(made);
            // A directory is watched from a moment after it was made.
            for (const path of (await watch.take())?.files ?? ["?"]) told.add(path);
          } else if (each.do === "remove" && !isRoot) {
            rmSync(join(root, directory), { recursive: true });
            directories = directories.filter(
              (path) => path !== directory && !path.startsWith(`${directory}/`),
            );
          } else if (each.do === "move" && !isRoot) {
            const into = directories[each.into % directories.length]!;
            if (into === directory || into.startsWith(`${directory}/`)) continue;
            const target = join(into, `n${names++}`);
            renameSync(join(root, directory), join(root, target));
            directories = directories.map((path) =>
              path === directory || path.startsWith(`${directory}/`)
                ? target + path.slice(directory.length)
                : path,
            );
          }
        }
        const last = await watch.take();
        for (const path of last?.files ?? ["?"]) told.add(path);
        expect([...told].sort()).toEqual([...expected].sort());
        expect(last?.truncated).toBe(false);
        await watch.close();
      }),
      { numRuns: 150 },
    );
  });
});

describe("the watcher's process", () => {
  /** A program that watches the tree, prints the first answer, and goes on as told. */
  function writeProgram(rest: string): string {
    const outfile = join(base, "watcher.mjs");
    const entryPoints = [join(import.meta.dirname, "access-watcher.ts")];
    buildSync({ entryPoints, outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" });
    const watcher = `new AccessWatcher(${JSON.stringify(PROGRAM)}, { timeoutMs: 20000 })`;
    const script = `import { AccessWatcher } from "./watcher.mjs";
const watch = ${watcher}.watch(${JSON.stringify(root)});
console.log(JSON.stringify(await watch.take()));
${rest}`;
    writeFileSync(join(base, "program.mjs"), script);
    return join(base, "program.mjs");
  }

  it("answers undefined for what is not there, and goes on", async () => {
    put("file");
    expect(await watcher.watch(join(base, "missing")).take()).toBeUndefined();
    expect(await watcher.watch(join(root, "file")).take()).toBeUndefined();
    const watch = await watchRoot();
    read("file");
    expect(await watch.take()).toEqual(only("file"));
  });

  it("answers undefined when the program cannot be run", async () => {
    for (const program of [join(base, "missing"), "/bin/true", "/bin/cat", base]) {
      const broken = new AccessWatcher(program, PATIENT);
      const watch = broken.watch(root);
      expect(await watch.take()).toBeUndefined();
      await watch.close();
      broken.close();
    }
  });

  it("answers undefined when there is no answer in time", async () => {
    const program = join(base, "silent");
    writeFileSync(program, "#!/bin/sh\nexec cat >/dev/null\n", { mode: 0o755 });
    const silent = new AccessWatcher(program, { timeoutMs: 20 });
    const watch = silent.watch(root);
    expect(await watch.take()).toBeUndefined();
    await watch.close();
    silent.close();
  });

  it("is started again after its end, for directories that are watched from then on", async () => {
    put("file");
    const old = await watchRoot();
    const taking = old.take();
    for (const pid of children()) process.kill(pid, "SIGKILL");
    await taking;
    await waitUntil(async () => (await old.take()) === undefined);
    const watch = await watchRoot();
    read("file");
    expect(await watch.take()).toEqual(only("file"));
    expect(await old.take()).toBeUndefined();
    await old.close();
  });

  it("is one for all directories, and gone when it is closed", async () => {
    await watchRoot();
    await watcher.watch(base).take();
    // The one of the test before may still be on its way out.
    await waitUntil(() => children().length === 1);
    watcher.close();
    await waitUntil(() => children().length === 0);
    expect(await watcher.watch(root).take()).toBeUndefined();
    expect(children()).toEqual([]);
  });

  it("does not keep our process alive, but for a question under way", () => {
    const output = execFileSync(process.execPath, [writeProgram("")]).toString();
    expect(output).toBe('{"files":[],"truncated":true}\n');
  });

  it("ends when our process is killed", async () => {
    const child = spawn(process.execPath, [writeProgram("setInterval(() => {}, 1000);")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    const [pid] = children(child.pid);
    expect(pid).toBeGreaterThan(1);
    child.kill("SIGKILL");
    await waitUntil(() => !existsSync(`/proc/${pid}`));
  });

  it("holds no directory open", async () => {
    put("a/b/file");
    const watch = await watchRoot();
    mkdirSync(join(root, "a/b/c"));
    read("a/b/file");
    await watch.take();
    await waitUntil(() => children().length === 1);
    const [pid] = children();
    // Input, output, complaints, and inotify itself.
    expect(readdirSync(`/proc/${pid}/fd`)).toEqual(["0", "1", "2", "3"]);
  });
});

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, expect, it } from "vitest";
import { waitUntil } from "../../src/kit/wait-until.js";
import { findPrebuilt } from "../../src/runtime/backends/guest-runtime.js";
import { type AccessWatch, AccessWatcher } from "../../src/runtime/workspace/access-watcher.js";
import { temporaryDirectory } from "../setup/clean-up.js";
import { requires } from "../setup/requires.js";
import { testSeed } from "../setup/test-seed.js";

const ROOT = join(import.meta.dirname, "../..");
const SANITIZED = join(ROOT, "build/skerry-guest-sanitized");
/** What the sanitizers exit with when they find something; the guest itself never does. */
const FINDING = 99;
const OPTIONS = {
  ASAN_OPTIONS: `exitcode=${FINDING}:detect_leaks=0`,
  UBSAN_OPTIONS: `halt_on_error=1:exitcode=${FINDING}`,
};

/** Renames, swaps, makes, removes and replaces directories by links, as fast as it can; reads files on the way. */
const STORM = `import ctypes, os, random, sys
root, seed, steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
libc = ctypes.CDLL(None)
pick = random.Random(seed)
names = ["a", "b", "c", "d", "\\udcff", "e" * 100]
def path():
    found = os.path.join(root, *(pick.choice(names) for _ in range(pick.randint(1, 5))))
    # Links lead out of the root, and this program follows them: it leaves nothing out there.
    if not os.path.realpath(os.path.dirname(found)).startswith(root): raise OSError(found)
    return found
def step():
    kind = pick.randrange(8)
    if kind <= 1: os.makedirs(path(), exist_ok=True)
    elif kind <= 3: os.rename(path(), path())
    elif kind == 4: libc.renameat2(-100, os.fsencode(path()), -100, os.fsencode(path()), 2)
    elif kind == 5: os.rmdir(path())
    elif kind == 6: os.symlink(pick.choice(["/etc", "/proc/self", "..", root]), path())
    else:
        with open(path() + ".file", "a+") as file: file.read()
for _ in range(steps):
    try: step()
    except OSError: pass
`;

let base: string;
let root: string;
const watchers: AccessWatcher[] = [];

beforeAll(() => {
  execFileSync(join(ROOT, "guest/build.sh"), ["--sanitize"], { stdio: "inherit" });
});

beforeEach(() => {
  base = temporaryDirectory();
  root = join(base, "root");
  mkdirSync(root);
});

afterEach(() => {
  for (const watcher of watchers.splice(0)) watcher.close();
});

function createWatcher(program: string): AccessWatcher {
  const watcher = new AccessWatcher(program, { timeoutMs: 20_000 });
  watchers.push(watcher);
  return watcher;
}

/** The sanitized build; what it complains about is in a file, since a watcher's complaints go nowhere. */
function createSanitized(): { watcher: AccessWatcher; complaints: () => string } {
  const program = join(base, "watcher");
  const log = join(base, "complaints");
  const settings = Object.entries(OPTIONS).map(([name, value]) => `${name}=${value}`);
  writeFileSync(log, "");
  writeFileSync(program, `#!/bin/sh\nexec env ${settings.join(" ")} ${SANITIZED} "$@" 2>>${log}\n`, {
    mode: 0o755,
  });
  return { watcher: createWatcher(program), complaints: () => readFileSync(log, "utf8") };
}

/** Takes until nothing was missed: after whatever happened, the tree is watched as it is. */
async function settle(watch: AccessWatch): Promise<void> {
  for (let attempt = 0; attempt < 20; attempt++) {
    const taken = await watch.take();
    if (taken?.truncated === false) return;
  }
  throw new Error("still truncated, though nothing happens any more");
}

/** Every file within two levels; what is deeper is removed, so that all of it fits into one answer. */
function listAndPrune(directory = Buffer.from(root), level = 0): Buffer[] {
  return readdirSync(directory, { withFileTypes: true, encoding: "buffer" }).flatMap((entry) => {
    const path = Buffer.concat([directory, Buffer.from("/"), entry.name]);
    if (entry.isFile()) return [path];
    if (entry.isDirectory() && level < 2) return listAndPrune(path, level + 1);
    if (entry.isDirectory()) rmSync(path, { recursive: true });
    return [];
  });
}

const memoryKb = (pid: number) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

/** The one watcher that runs now; the one of the test before may still be on its way out. */
async function watcherPid(): Promise<number> {
  const running = () =>
    readdirSync("/proc/self/task")
      .flatMap((task) => readFileSync(`/proc/self/task/${task}/children`, "utf8").split(" "))
      .map(Number)
      .filter((pid) => pid > 0 && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--watch"));
  await waitUntil(() => running().length === 1);
  return running()[0]!;
}

requires("python3", "gcc").describe("the watcher, under a hostile tree", () => {
  it("survives storms of renames, answers meanwhile, and knows the tree afterwards", async () => {
    const { watcher, complaints } = createSanitized();
    const watch = watcher.watch(root);
    const second = watcher.watch(root);
    for (const seed of [testSeed, testSeed + 1]) {
      const storms = [seed, seed + 100].map((each) =>
        once(
          spawn("/usr/bin/python3", ["-c", STORM, root, String(each), "5000"], { stdio: "inherit" }),
          "exit",
        ),
      );
      let isOver = false;
      const over = Promise.all(storms).then((exits) => {
        isOver = true;
        return exits;
      });
      while (!isOver) expect(await watch.take()).toBeDefined();
      expect((await over).map(([code]) => code)).toEqual([0, 0]);
      const files = listAndPrune();
      const shown = files.map((path) => path.toString().slice(root.length + 1)).sort();
      expect(shown.length).toBeGreaterThan(0);
      for (const each of [watch, second]) {
        await settle(each);
        for (const path of files) readFileSync(path);
        expect(await each.take()).toEqual({ files: shown, truncated: false });
      }
    }
    await watch.close();
    await second.close();
    expect(complaints()).toBe("");
  });

  it("does not grow with a million reads, and tells the files of all of them", async () => {
    for (let index = 0; index < 50; index++) writeFileSync(join(root, `file-${index}`), "content");
    const watch = createWatcher(findPrebuilt().guest).watch(root);
    await watch.take();
    const pid = await watcherPid();
    const before = memoryKb(pid);
    const script = `import os, sys
files = [os.open(f"{sys.argv[1]}/file-{i}", os.O_RDONLY) for i in range(50)]
for i in range(1000000): os.pread(files[i % 50], 1, 0)`;
    execFileSync("/usr/bin/python3", ["-c", script, root]);
    expect((await watch.take())?.files).toHaveLength(50);
    expect(memoryKb(pid) - before).toBeLessThan(2048);
    await settle(watch);
    readFileSync(join(root, "file-7"));
    expect(await watch.take()).toEqual({ files: ["file-7"], truncated: false });
  });

  it("does not grow with a tree beyond its limits, and serves its neighbours meanwhile", async () => {
    const [flooded, quiet] = [join(root, "flooded"), join(root, "quiet")];
    for (const directory of [flooded, quiet]) mkdirSync(directory);
    writeFileSync(join(quiet, "file"), "");
    const watcher = createWatcher(findPrebuilt().guest);
    const [watch, neighbour] = [watcher.watch(flooded), watcher.watch(quiet)];
    for (const each of [watch, neighbour]) await each.take();
    const script = `import os, sys
for i in range(9000): os.mkdir(f"{sys.argv[1]}/{i:0200}")
for i in range(2000): open(f"{sys.argv[1]}/{i:0200}/{i:0200}", "w+").read()`;
    execFileSync("/usr/bin/python3", ["-c", script, flooded]);
    expect((await watch.take())?.truncated).toBe(true);
    expect(memoryKb(await watcherPid())).toBeLessThan(16 * 1024);
    await settle(neighbour);
    readFileSync(join(quiet, "file"));
    expect(await neighbour.take()).toEqual({ files: ["file"], truncated: false });
    execFileSync("rm", ["-rf", flooded]);
    expect(await watch.take()).toBeDefined();
    await watch.close();
  });
});

requires("gcc").describe("the watcher, against a broken host", () => {
  async function feed(
    input: Uint8Array,
  ): Promise<{ code: number | null; complaints: string; output: Buffer }> {
    const child = spawn(SANITIZED, ["--watch"], { env: OPTIONS, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.on("error", () => undefined);
    const complaints = text(child.stderr);
    const output: Buffer[] = [];
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk));
    child.stdin.end(input);
    const [code] = (await once(child, "close")) as [number | null];
    return { code, complaints: await complaints, output: Buffer.concat(output) };
  }

  function frame(type: number, id: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
    const head = Buffer.alloc(12);
    head.writeUInt32LE(payload.length, 0);
    head.writeUInt32LE(id, 4);
    head.writeUInt32LE(type, 8);
    return Buffer.concat([head, payload]);
  }

  function field(tag: number, value: Uint8Array): Buffer {
    const head = Buffer.alloc(5);
    head[0] = tag;
    head.writeUInt32LE(value.length, 1);
    return Buffer.concat([head, value]);
  }

  const path = field(1, Buffer.from("/nonexistent"));

  it.each([
    ["an unknown frame", frame(0x01, 1), "the host sent an unknown frame 0x01"],
    ["no path", frame(0x21, 1), "the host sent no path"],
    ["an unknown field", frame(0x21, 1, field(9, Buffer.alloc(1))), "the host sent an unknown field 9"],
    ["a cut field", frame(0x21, 1, path.subarray(0, 4)), "the host sent a cut field"],
    ["bad limits", frame(0x21, 1, field(2, Buffer.alloc(15))), "the host sent an unknown field 2"],
    ["an id twice", Buffer.concat([frame(0x21, 1, path), frame(0x21, 1, path)]), "the host used an id twice"],
    ["no sequence", frame(0x22, 1), "the host sent no sequence"],
    ["a stranger", frame(0x23, 1, Buffer.alloc(4)), "the host forgot what it did not watch"],
  ])("exits with 70 at %s", async (_, input, complaint) => {
    const { code, complaints } = await feed(input);
    expect([code, complaints]).toEqual([70, `skerry-guest: ${complaint}\n`]);
  });

  it("ends with its input, after the last answer", async () => {
    const sequence = Buffer.from([7, 0, 0, 0]);
    const { code, complaints, output } = await feed(
      Buffer.concat([frame(0x21, 5, path), frame(0x22, 5, sequence), frame(0x22, 6, sequence)]),
    );
    expect([code, complaints]).toEqual([0, ""]);
    // The reader is gone once the input has ended: an answer may be missing, but none is cut or wrong.
    const answer = (id: number) => frame(0xa2, id, Buffer.from([7, 0, 0, 0, 2]));
    expect([Buffer.alloc(0), answer(6), Buffer.concat([answer(6), answer(5)])]).toContainEqual(output);
  });

  it("survives any bytes", async () => {
    const anyFrame = fc
      .tuple(fc.constantFrom(0x21, 0x22, 0x23, 0xff), fc.nat({ max: 2 }), fc.uint8Array({ maxLength: 40 }))
      .map(([type, id, payload]) => frame(type, id, payload));
    const goodFrame = fc.oneof(
      fc.nat({ max: 2 }).map((id) => frame(0x21, id, field(1, Buffer.from(tmpdir())))),
      fc
        .tuple(fc.constantFrom(0x22, 0x23), fc.nat({ max: 2 }))
        .map(([type, id]) => frame(type, id, Buffer.alloc(4))),
    );
    const input = fc
      .array(fc.oneof({ weight: 5, arbitrary: goodFrame }, { weight: 1, arbitrary: anyFrame }), {
        maxLength: 12,
      })
      .map((frames) => Buffer.concat(frames));
    await fc.assert(
      fc.asyncProperty(input, fc.nat({ max: 30 }), async (bytes, cut) => {
        const { code, complaints } = await feed(bytes.subarray(0, Math.max(0, bytes.length - cut)));
        expect([0, 70]).toContain(code);
        expect(complaints).toMatch(/^(skerry-guest: the host .*\n)?$/);
      }),
      { numRuns: 60 },
    );
  });
});

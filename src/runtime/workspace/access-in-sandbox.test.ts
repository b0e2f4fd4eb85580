import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../test/setup/clean-up.js";
import { openManager } from "../../../test/setup/open-manager.js";
import { requires } from "../../../test/setup/requires.js";
import { waitUntil } from "../../kit/wait-until.js";
import type { BackendFactory, Instance } from "../backends/backend.js";
import { createBubblewrapBackend } from "../backends/bubblewrap/backend.js";
import { findPrebuilt } from "../backends/guest-runtime.js";
import { registerBackend } from "../backends/registry.js";
import type { RunningSandbox } from "../sandbox/index.js";
import { type AccessWatch, AccessWatcher } from "./access-watcher.js";

/** The real backend; it lets us see where the files are for the host. */
const instances = new Map<string, Instance>();
const createWatched: BackendFactory = (context) => {
  const real = createBubblewrapBackend(context);
  return {
    name: "watched",
    probe: (options) => real.probe(options),
    reap: () => real.reap(),
    async create(spec) {
      const instance = await real.create(spec);
      instances.set(instance.id, instance);
      return instance;
    },
  };
};
registerBackend("watched", createWatched);

let directory: string;
let watcher: AccessWatcher;

beforeEach(() => {
  directory = temporaryDirectory();
  watcher = new AccessWatcher(findPrebuilt().guest, { timeoutMs: 20_000 });
});

afterEach(async () => {
  watcher.close();
  instances.clear();
});

async function startSandbox(ephemeral: boolean): Promise<RunningSandbox> {
  const manager = openManager({ backend: "watched", stateDir: join(directory, "state") });
  return manager.startSandbox("watched", { ephemeral });
}

async function watch(sandbox: RunningSandbox): Promise<AccessWatch> {
  const watched = watcher.watch(instances.get(sandbox.id)!.hostWorkspace!);
  await watched.take();
  return watched;
}

const only = (...files: string[]) => ({ files, truncated: false });

/** A file of the kernel's; empty when what it speaks of is gone. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}

/** Loop devices with an image of this test. */
function loopDevices(): string[] {
  return readdirSync("/sys/block").filter((name) =>
    textOf(`/sys/block/${name}/loop/backing_file`).includes(directory),
  );
}

/** What the kernel says that our watchers watch; one of the test before may still be on its way out. */
function watchedInodes(): string[] {
  return readdirSync("/proc/self/task")
    .flatMap((task) => textOf(`/proc/self/task/${task}/children`).trim().split(" "))
    .filter((pid) => textOf(`/proc/${pid}/cmdline`).includes("--watch"))
    .flatMap((pid) => textOf(`/proc/${pid}/fdinfo/3`).match(/^inotify wd.*$/gm) ?? []);
}

requires("root", "bubblewrap", "cgroups", "python3").describe("reads inside a sandbox", () => {
  it.each([
    ["a session's, on an image", false],
    ["one that is thrown away, in memory", true],
  ])("are told: %s", async (_, ephemeral) => {
    const sandbox = await startSandbox(ephemeral);
    await sandbox.files.write("data/in.txt", "content");
    await sandbox.files.write("unread", "");
    const watched = await watch(sandbox);
    await sandbox.exec(["cat", "data/in.txt"]);
    expect(await watched.take()).toEqual(only("data/in.txt"));
    await sandbox.exec("echo written > out; mkdir -p new/deep; ls -R; cat /etc/hosts");
    expect(await watched.take()).toEqual(only());
    await sandbox.exec("mv new newer; echo x > newer/deep/file; cat newer/deep/file; cp data/in.txt copy");
    expect(await watched.take()).toEqual(only("data/in.txt", "newer/deep/file"));
    await watched.close();
    await waitUntil(() => watchedInodes().length === 0);
  });

  it.each([
    ["reads it", "print(open('data').read())"],
    ["maps it", "import mmap; print(mmap.mmap(open('data').fileno(), 0, prot=mmap.PROT_READ)[:])"],
    [
      "maps it and ends at once",
      "import mmap, os; m = mmap.mmap(os.open('data', 0), 0, prot=1); m[:]; os._exit(0)",
    ],
    ["is killed", "import os; f = open('data'); f.read(); os.kill(os.getpid(), 9)"],
  ])("are told of a program that %s, warm or not", async (_, code) => {
    const sandbox = await startSandbox(false);
    await sandbox.files.write("data", "content");
    const watched = await watch(sandbox);
    await sandbox.prewarm("python");
    for (let round = 0; round < 3; round++) {
      await watched.take();
      await sandbox.runCode(code, { language: "python", filename: "program.py" });
      expect((await watched.take())?.files).toEqual(["data", "program.py"]);
    }
  });

  it("are told to both sandboxes of one session", async () => {
    const [one, other] = [await startSandbox(false), await startSandbox(false)];
    await one.files.write("file", "");
    const watches = [await watch(one), await watch(other)];
    for (const each of watches) await each.take();
    await one.exec(["cat", "file"]);
    for (const each of watches) expect(await each.take()).toEqual(only("file"));
    await one.stop();
    await watches[0]!.close();
    await other.exec(["cat", "file"]);
    expect(await watches[1]!.take()).toEqual(only("file"));
  });

  it.each([
    ["a session's, on an image", false],
    ["one that is thrown away, in memory", true],
  ])("do not keep a sandbox's file system: %s", async (_, ephemeral) => {
    const sandbox = await startSandbox(ephemeral);
    await sandbox.exec("mkdir -p a/b/c; echo > a/b/file");
    const watched = await watch(sandbox);
    expect(loopDevices()).toHaveLength(ephemeral ? 0 : 1);
    await waitUntil(() => watchedInodes().length === 4);
    await sandbox.exec(["cat", "a/b/file"]);
    await sandbox.stop();
    await waitUntil(() => loopDevices().length === 0);
    // The kernel lets go of a watch when the file system goes.
    await waitUntil(() => watchedInodes().length === 0);
    expect(await watched.take()).toEqual(only("a/b/file"));
    expect(await watched.take()).toBeUndefined();
  });

  it("are told up to the end of a sandbox that dies", async () => {
    const sandbox = await startSandbox(true);
    await sandbox.files.write("file", "");
    const watched = await watch(sandbox);
    const running = sandbox.exec(["sh", "-c", "cat file; echo done; sleep 1000"]);
    for await (const event of running) if ("data" in event) break;
    await instances.get(sandbox.id)!.destroy();
    await Promise.resolve(running).catch(() => undefined);
    expect(await watched.take()).toEqual(only("file"));
  });
});

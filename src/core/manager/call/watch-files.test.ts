import { beforeEach, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../test/setup/clean-up.js";
import { openManager } from "../../../../test/setup/open-manager.js";
import { requires } from "../../../../test/setup/requires.js";
import { parsePolicy } from "../../../guard/policy/index.js";
import { waitUntil } from "../../../kit/wait-until.js";
import { parseConfig } from "../../config/index.js";
import { type EntriesByPath, entryChanges } from "../files/entry-changes.js";
import type { FileWatch, WatchEvent } from "../files/file-watch.js";
import type { SandboxManager } from "../index.js";
import type { SandboxManagerOptions } from "../manager-options.js";

const LONG_MS = 60_000;
let directory: string;
let manager: SandboxManager;

beforeEach(() => {
  directory = temporaryDirectory();
});

async function open(options: Partial<SandboxManagerOptions> = {}, sandbox: object = {}): Promise<void> {
  const config = await parseConfig({ sandbox: { stateDir: directory, ...sandbox } });
  manager = openManager({ config, stateDir: directory, ...options });
}

/** What comes, as it comes, until it ends or fails. */
function follow(watch: FileWatch): { readonly events: WatchEvent[]; readonly over: Promise<void> } {
  const events: WatchEvent[] = [];
  const over = (async () => {
    for await (const event of watch) events.push(event);
  })();
  over.catch(() => undefined);
  return { events, over };
}

/** Changes during a listing come in any order, and a file may be seen to change twice. */
function toldOf(events: readonly WatchEvent[]): string[] {
  const texts = events.map((event) =>
    "entryType" in event ? `${event.type} ${event.entryType} ${event.path}` : event.type,
  );
  return [...new Set(texts)].sort();
}

/** Waits until this was told, and nothing else. */
async function expectTold(events: readonly WatchEvent[], ...expected: string[]): Promise<void> {
  await waitUntil(() => toldOf(events).length >= expected.length, LONG_MS);
  expect(toldOf(events)).toEqual(expected.sort());
}

const run = (command: string) => manager.execute({ sessionId: "s", command, timeoutMs: LONG_MS });

requires("bubblewrap").describe("watchFiles", () => {
  it("tells what programs and file calls create, modify and delete, and nothing of what they run from", async () => {
    await open();
    await run("mkdir old; echo 1 > old/a; echo 1 > old/b");
    const { events } = follow(await manager.watchFiles({ sessionId: "s" }));
    await waitUntil(() => events.length > 0);
    expect(events.splice(0)).toEqual([{ type: "watching", path: ".", recursive: true }]);
    await run("echo 22 > old/a; rm old/b; mkdir -p new/deep; ln -s /etc new/deep/link; mkfifo new/pipe");
    await expectTold(
      events,
      "deleted file old/b",
      "created directory new",
      "created directory new/deep",
      "created symlink new/deep/link",
      "created other new/pipe",
      "modified file old/a",
    );
    events.splice(0);
    // While a program runs, too.
    const running = manager.execute({
      sessionId: "s",
      language: "python",
      code: "import os, time\nopen('started', 'w')\nwhile not os.path.exists('go'): time.sleep(0.05)",
      timeoutMs: LONG_MS,
    });
    await expectTold(events, "created file started");
    await manager.useFiles({
      ...{ sessionId: "s", tool: "file_write", summary: "write", paths: [{ path: "go", access: "write" }] },
      work: ({ files }) => files.write("go", ""),
    });
    await running;
    await expectTold(events, "created file started", "created file go");
    events.splice(0);
    await run("rm -r old new");
    await expectTold(
      events,
      "deleted file old/a",
      "deleted directory old",
      "deleted other new/pipe",
      "deleted symlink new/deep/link",
      "deleted directory new/deep",
      "deleted directory new",
    );
  });

  it("looks at one directory, with or without what lies beneath, also when it goes and comes back", async () => {
    await open();
    await run("mkdir -p d/e; touch d/a x");
    const flat = follow(await manager.watchFiles({ sessionId: "s", path: "./d/", recursive: false }));
    const deep = follow(await manager.watchFiles({ sessionId: "s", path: "d" }));
    await run("touch d/e/f d/b y");
    const created = ["watching", "created file d/b"];
    await expectTold(flat.events, ...created);
    await expectTold(deep.events, ...created, "created file d/e/f");
    await run("rm -r d; ln -s /etc d");
    const deleted = ["deleted directory d/e", "deleted file d/a", "deleted file d/b"];
    await expectTold(flat.events, ...created, ...deleted);
    await expectTold(deep.events, ...created, "created file d/e/f", ...deleted, "deleted file d/e/f");
    await run("rm d; mkdir d; touch d/again");
    await expectTold(flat.events, ...created, ...deleted, "created file d/again");
    for (const [path, code] of [
      ["none", "FILE_NOT_FOUND"],
      ["x", "FILE_TYPE"],
      ["../x", "PATH_TRAVERSAL"],
    ])
      await expect(manager.watchFiles({ sessionId: "s", path: path! })).rejects.toMatchObject({ code });
  });

  it("neither keeps a sandbox from being idle nor starts it again, and goes on when another call does", async () => {
    await open({}, { runtime: { idleTimeout: "2s" } });
    await run("touch a");
    const { events } = follow(await manager.watchFiles({ sessionId: "s" }));
    await waitUntil(() => !manager.isRunning("s"), LONG_MS);
    await run("touch b");
    await expectTold(events, "watching", "created file b");
    await waitUntil(() => !manager.isRunning("s"), LONG_MS);
  });

  it("is decided about as a listing, and never tells what the policy keeps back", async () => {
    const policyOf = (tools: string) =>
      parsePolicy(`policies:\n  tools:\n    shell_exec: {}\n${tools}`, "p.yaml");
    await open({ policy: policyOf("    file_list: { denied_paths: [.env, private] }\n") });
    const { events } = follow(await manager.watchFiles({ sessionId: "s" }));
    await run("mkdir private; touch .env private/key open");
    await expectTold(events, "watching", "created file open");
    await run("rm -r .env private open");
    await expectTold(events, "watching", "created file open", "deleted file open");
    await manager.close();
    await open({ policy: policyOf("") });
    await expect(manager.watchFiles({ sessionId: "s" })).rejects.toMatchObject({ code: "POLICY_DENIED" });
  });

  it("tells of too many changes once, of too many files as an error, and takes so many watchers", async () => {
    await open();
    await run("true");
    const events = (await manager.watchFiles({ sessionId: "s" }))[Symbol.asyncIterator]();
    expect((await events.next()).value).toMatchObject({ type: "watching" });
    await run("mkdir many && cd many && touch $(seq 1500)");
    expect((await events.next()).value).toEqual({ type: "overflow" });
    await run("touch after");
    expect((await events.next()).value).toEqual({ type: "created", path: "after", entryType: "file" });
    const more = await Promise.all(Array.from({ length: 15 }, () => manager.watchFiles({ sessionId: "s" })));
    await expect(manager.watchFiles({ sessionId: "s" })).rejects.toMatchObject({ code: "SANDBOX_BUSY" });
    more[0]!.close();
    more[0] = await manager.watchFiles({ sessionId: "s" });
    for (const each of more) each.close();
    await run("cd many && touch $(seq 1501 10100)");
    await expect(events.next()).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
    await expect(manager.watchFiles({ sessionId: "s" })).rejects.toMatchObject({ code: "FILE_TOO_LARGE" });
    await manager.watchFiles({ sessionId: "s", recursive: false });
  });

  it("tells a slow reader what is there when it reads, and ends with its reader, the session and the manager", async () => {
    await open();
    await run("true");
    const slow = (await manager.watchFiles({ sessionId: "s" }))[Symbol.asyncIterator]();
    expect((await slow.next()).value).toMatchObject({ type: "watching" });
    // Nothing is listed meanwhile.
    for (let i = 0; i < 3; i++) await run(`touch t${i}; rm -f t${i - 1}`);
    expect((await slow.next()).value).toEqual({ type: "created", path: "t2", entryType: "file" });
    const reader = new AbortController();
    const left = follow(await manager.watchFiles({ sessionId: "s", signal: reader.signal }));
    const stays = follow(await manager.watchFiles({ sessionId: "s" }));
    await waitUntil(() => left.events.length + stays.events.length === 2);
    reader.abort();
    await left.over;
    expect(toldOf(left.events)).toEqual(["watching"]);
    await manager.deleteSession("s");
    await stays.over;
    expect(stays.events.at(-1)).toEqual({ type: "ended", why: "The session has ended" });
    expect((await slow.next()).value).toEqual({ type: "ended", why: "The session has ended" });
    expect((await slow.next()).done).toBe(true);
    const last = follow(await manager.watchFiles({ sessionId: "s" }));
    await manager.close();
    await last.over;
    expect(last.events.at(-1)).toEqual({ type: "ended", why: "The manager was closed" });
  });
});

it("tells what differs: what is gone first, the deepest first, and a directory only when its mode does", async () => {
  await open();
  const entries = (...listed: [string, "file" | "directory", number, number][]): EntriesByPath =>
    new Map(
      listed.map(([path, type, size, modifiedMs]) => [path, { path, type, size, mode: 0o644, modifiedMs }]),
    );
  const before = entries(
    ["a", "file", 1, 1],
    ["b", "file", 1, 1],
    ["d", "directory", 1, 1],
    ["d/e", "file", 1, 1],
  );
  const after = entries(
    ["a", "file", 1, 1],
    ["b", "file", 1, 2],
    ["d", "directory", 9, 9],
    ["d/e", "directory", 1, 1],
  );
  expect(entryChanges(before, after)).toEqual([
    { type: "deleted", path: "d/e", entryType: "file" },
    { type: "modified", path: "b", entryType: "file" },
    { type: "created", path: "d/e", entryType: "directory" },
  ]);
  expect(entryChanges(before, before)).toEqual([]);
  expect(entryChanges(before, new Map()).map(({ path }) => path)).toEqual(["d/e", "d", "b", "a"]);
});

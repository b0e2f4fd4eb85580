import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type GuestInside, startGuest } from "../../../test/setup/guest-inside.js";
import { AgentWorkspace } from "../../workspace/index.js";
import { RunnerWorkspace } from "./runner-workspace.js";
import { type SyncOptions, WorkspaceSync } from "./sync-workspace.js";

const LIMITS = { maxBytes: 64 * 1024 * 1024, maxEntries: 10_000 };
const RUNS = Number(process.env["SYNC_MODEL_RUNS"] ?? 60);
const DONE = { skipped: [], complete: true };

let base: string;
let guest: GuestInside;
/** The sandbox's files, as this test reaches them past the guest. */
let inside: string;
let host: string;
let workspace: AgentWorkspace;

beforeEach(async () => {
  base = mkdtempSync(join(tmpdir(), "skerry-sync-"));
  inside = join(base, "workspace");
  host = join(base, "host");
  mkdirSync(inside);
  mkdirSync(host);
  workspace = AgentWorkspace.open(host);
});

afterEach(async () => {
  workspace.close();
  await guest?.stop();
  rmSync(base, { recursive: true, force: true });
});

async function open(options: Partial<SyncOptions> = {}, programs: Record<string, string> = {}) {
  guest = await startGuest(base, programs);
  return new WorkspaceSync(workspace, new RunnerWorkspace(guest), { limits: LIMITS, ...options });
}

/** Everything of a tree, in a form that can be compared. */
function contents(root: string): Record<string, string> {
  const all: Record<string, string> = {};
  const walk = (directory: string, prefix: string) => {
    for (const name of readdirSync(directory).sort()) {
      const path = join(directory, name);
      const stat = lstatSync(path);
      const mode = (stat.mode & 0o777).toString(8);
      if (stat.isSymbolicLink()) all[prefix + name] = `-> ${readlinkSync(path)}`;
      else if (stat.isDirectory()) {
        all[prefix + name] = `${mode} directory`;
        walk(path, `${prefix}${name}/`);
      } else if (stat.isFile()) {
        all[prefix + name] = `${mode} ${readFileSync(path).toString("base64").slice(0, 200)}`;
      }
    }
  };
  walk(root, "");
  return all;
}

function plant(root: string): void {
  mkdirSync(join(root, "d/deep"), { recursive: true });
  writeFileSync(join(root, "d/deep/file"), "content");
  writeFileSync(join(root, "run.sh"), "#!/bin/sh\n", { mode: 0o755 });
  chmodSync(join(root, "run.sh"), 0o755);
  writeFileSync(join(root, "näme with\nline 'quote\" $(x) -n"), "odd");
  symlinkSync("d/deep/file", join(root, "link"));
  symlinkSync("/etc/passwd", join(root, "outward"));
  mkdirSync(join(root, "empty"));
  chmodSync(join(root, "empty"), 0o700);
  chmodSync(join(root, "d"), 0o555);
}

describe("a session's files without a shared directory", () => {
  it("go into the sandbox with modes, times, directories and links", async () => {
    plant(host);
    utimesSync(join(host, "run.sh"), 1_600_000_000.25, 1_600_000_000.25);
    const sync = await open();
    expect(await sync.toContainer()).toMatchObject({ ...DONE, copied: 8, removed: 0 });
    expect(contents(inside)).toEqual(contents(host));
    expect(statSync(join(inside, "run.sh")).mtimeMs).toBe(1_600_000_000_250);
    expect(await sync.toContainer()).toEqual({ ...DONE, copied: 0, removed: 0, bytes: 0 });
    expect(await sync.toHost()).toEqual({ ...DONE, copied: 0, removed: 0, bytes: 0 });
  });

  it("come back with modes, times, directories and links, and nothing is left beside them", async () => {
    plant(inside);
    utimesSync(join(inside, "run.sh"), 1_600_000_000.25, 1_600_000_000.25);
    const sync = await open();
    expect(await sync.toHost()).toMatchObject({ ...DONE, copied: 8 });
    expect(contents(host)).toEqual(contents(inside));
    expect(statSync(join(host, "run.sh")).mtimeMs).toBe(1_600_000_000_250);
    expect(await sync.toHost()).toEqual({ ...DONE, copied: 0, removed: 0, bytes: 0 });
  });

  it("are sent only when they differ", async () => {
    plant(host);
    writeFileSync(join(host, "large"), Buffer.alloc(200_000, 7));
    const sync = await open();
    await sync.toContainer();
    writeFileSync(join(inside, "d/deep/file"), "changed");
    // The same bytes with another time are not sent, and get their time.
    utimesSync(join(inside, "large"), 1, 1);
    rmSync(join(inside, "link"));
    expect(await sync.toHost()).toEqual({ ...DONE, copied: 2, removed: 1, bytes: 7 });
    expect(contents(host)).toEqual(contents(inside));
    expect(statSync(join(host, "large")).mtimeMs).toBe(1000);
  });

  it("are seen as changed when size and time stay the same", async () => {
    const sync = await open();
    const large = (byte: number) => Buffer.alloc(100_000, byte);
    for (const [name, before, after] of [
      ["small", "one", "two"],
      ["large", large(1), large(2)],
    ] as const) {
      writeFileSync(join(inside, name), before);
      utimesSync(join(inside, name), 5, 5);
      await sync.toHost();
      writeFileSync(join(inside, name), after);
      utimesSync(join(inside, name), 5, 5);
      expect(await sync.toHost()).toMatchObject({ ...DONE, copied: 1 });
      expect(readFileSync(join(host, name))).toEqual(readFileSync(join(inside, name)));
    }
  });

  it("change their kind", async () => {
    const sync = await open();
    mkdirSync(join(inside, "a"));
    writeFileSync(join(inside, "a/x"), "x");
    writeFileSync(join(inside, "b"), "b");
    symlinkSync("b", join(inside, "c"));
    await sync.toHost();
    rmSync(join(inside, "a"), { recursive: true });
    rmSync(join(inside, "b"));
    rmSync(join(inside, "c"));
    symlinkSync("/tmp", join(inside, "a"));
    mkdirSync(join(inside, "b"));
    writeFileSync(join(inside, "b/y"), "y");
    writeFileSync(join(inside, "c"), "file now");
    expect(await sync.toHost()).toMatchObject(DONE);
    expect(contents(host)).toEqual(contents(inside));
    rmSync(join(host, "b"), { recursive: true });
    symlinkSync("c", join(host, "b"));
    expect(await sync.toContainer()).toMatchObject(DONE);
    expect(contents(inside)).toEqual(contents(host));
  });

  it("agree where one side made a file of a directory that the other has added to", async () => {
    const sync = await open();
    mkdirSync(join(host, "a"));
    await sync.toContainer();
    rmSync(join(host, "a"), { recursive: true });
    writeFileSync(join(host, "a"), "a file now");
    writeFileSync(join(inside, "a/added"), "1");
    expect((await sync.toHost()).skipped).toMatchObject([{ path: "a/added" }]);
    expect(await sync.toContainer()).toMatchObject(DONE);
    expect(contents(inside)).toEqual(contents(host));
  });

  it("keep what the other side has done by itself", async () => {
    const sync = await open();
    writeFileSync(join(host, "both"), "1");
    await sync.toContainer();
    writeFileSync(join(host, "of-host"), "h");
    writeFileSync(join(inside, "of-guest"), "g");
    await sync.toHost();
    expect(readdirSync(host).sort()).toEqual(["both", "of-guest", "of-host"]);
    expect(readdirSync(inside).sort()).toEqual(["both", "of-guest"]);
    await sync.toContainer();
    expect(contents(inside)).toEqual(contents(host));
  });

  it("stay the host's where they are protected", async () => {
    mkdirSync(join(host, "rules"));
    writeFileSync(join(host, "rules/policy.md"), "the host's");
    const sync = await open({ denyWrite: ["rules"] });
    await sync.toContainer();
    expect(readFileSync(join(inside, "rules/policy.md"), "utf8")).toBe("the host's");
    writeFileSync(join(inside, "rules/policy.md"), "forged");
    writeFileSync(join(inside, "rules/more.md"), "forged");
    expect(await sync.toHost()).toMatchObject({ copied: 0, removed: 0 });
    rmSync(join(inside, "rules"), { recursive: true });
    await sync.toHost();
    expect(contents(host)).toEqual({
      rules: expect.any(String),
      "rules/policy.md": expect.stringContaining(Buffer.from("the host's").toString("base64")),
    });
    expect(readdirSync(join(host, "rules"))).toEqual(["policy.md"]);
  });

  it("say what cannot be copied, and copy the rest", async () => {
    const sync = await open();
    execFileSync("mkfifo", [join(inside, "fifo")]);
    writeFileSync(Buffer.concat([Buffer.from(`${inside}/`), Buffer.from([0x66, 0xff])]), "");
    writeFileSync(join(inside, "fine"), "1");
    const report = await sync.toHost();
    expect(report).toMatchObject({ copied: 1, complete: true });
    expect(report.skipped.map(({ path, code }) => [path, code]).sort()).toEqual([
      ["fifo", "FILE_TYPE"],
      ["f\ufffd", "INVALID_ARGUMENT"],
    ]);
    expect(readdirSync(host)).toEqual(["fine"]);
  });

  it("pass over a program's own file", async () => {
    const sync = await open({ excluded: () => ["main.py"] });
    writeFileSync(join(inside, "main.py"), "print(1)");
    writeFileSync(join(inside, "out"), "1");
    await sync.toHost();
    expect(readdirSync(host)).toEqual(["out"]);
  });

  it("are copied where find knows no fractions of seconds", async () => {
    const plain = `#!/bin/sh
for word do
  case $word in -printf | -ignore_readdir_race) exit 1 ;; esac
done
exec /usr/bin/find "$@"
`;
    plant(host);
    const sync = await open({}, { find: plain });
    expect(await sync.toContainer()).toMatchObject({ ...DONE, copied: 8 });
    expect(contents(inside)).toEqual(contents(host));
    writeFileSync(join(inside, "run.sh"), "longer than before\n");
    rmSync(join(inside, "link"));
    expect(await sync.toHost()).toMatchObject({ ...DONE, copied: 1, removed: 1 });
    expect(contents(host)).toEqual(contents(inside));
  });

  it(
    "are the same on both sides after any edits",
    async () => {
      await open();
      const name = fc.constantFrom("a", "b", "c", "ü", "x y", "-n");
      const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((names) => names.join("/"));
      const edit = fc.oneof(
        fc.record({ kind: fc.constant("file" as const), path, text: fc.string({ maxLength: 20 }) }),
        fc.record({ kind: fc.constant("large" as const), path, byte: fc.integer({ min: 0, max: 2 }) }),
        fc.record({ kind: fc.constant("directory" as const), path }),
        fc.record({ kind: fc.constant("link" as const), path, to: fc.constantFrom("a", "../b", "/etc") }),
        fc.record({ kind: fc.constant("remove" as const), path }),
        fc.record({
          kind: fc.constant("mode" as const),
          path,
          mode: fc.constantFrom(0o644, 0o755, 0o600, 0o700),
        }),
      );
      type Edit = typeof edit extends fc.Arbitrary<infer T> ? T : never;
      const apply = (root: string, each: Edit) => {
        const target = join(root, each.path);
        try {
          if (each.kind === "remove") return rmSync(target, { recursive: true });
          if (each.kind === "mode") {
            if (!lstatSync(target).isSymbolicLink()) chmodSync(target, each.mode);
            return;
          }
          // A link on the way would lead both trees into each other's edits.
          const parts = each.path.split("/");
          for (let depth = 1; depth < parts.length; depth++) {
            const above = join(root, ...parts.slice(0, depth));
            if (existsSync(above) && lstatSync(above).isSymbolicLink()) return;
          }
          mkdirSync(join(target, ".."), { recursive: true });
          if (each.kind === "directory") mkdirSync(target);
          else if (each.kind === "link") symlinkSync(each.to, target);
          else if (lstatSync(target, { throwIfNoEntry: false })?.isSymbolicLink()) return;
          else writeFileSync(target, each.kind === "large" ? Buffer.alloc(80_000, each.byte) : each.text);
        } catch {
          // An edit that does not fit what is there.
        }
      };
      await fc.assert(
        fc.asyncProperty(
          fc.array(edit, { maxLength: 12 }),
          fc.array(edit, { maxLength: 12 }),
          fc.array(edit, { maxLength: 12 }),
          fc.boolean(),
          async (common, hosts, guests, hostFirst) => {
            for (const root of [host, inside]) {
              for (const each of readdirSync(root)) rmSync(join(root, each), { recursive: true });
            }
            const sync = new WorkspaceSync(workspace, new RunnerWorkspace(guest), { limits: LIMITS });
            for (const each of common) apply(host, each);
            await sync.toContainer();
            for (const each of hosts) apply(host, each);
            for (const each of guests) apply(inside, each);
            const [first, second] = hostFirst
              ? [() => sync.toContainer(), () => sync.toHost()]
              : [() => sync.toHost(), () => sync.toContainer()];
            await first();
            await second();
            // Where both sides changed what is above and what is below, a second time settles it.
            await first();
            await second();
            expect(contents(host)).toEqual(contents(inside));
          },
        ),
        { numRuns: RUNS },
      );
    },
    120_000 + RUNS * 1000,
  );
});

describe("a sandbox that is against it", () => {
  const ANSWERS_PROBE = 'case "$*" in "/ -prune"*) exit 0 ;; esac';
  const fakeFind = (body: string) => `#!/bin/sh\n${ANSWERS_PROBE}\n${body}\n`;

  it("cannot fill this host's disk, whatever sizes it tells", async () => {
    writeFileSync(join(inside, "a"), Buffer.alloc(300_000, 1));
    writeFileSync(join(inside, "b"), Buffer.alloc(300_000, 2));
    const sync = await open({ limits: { maxBytes: 500_000, maxEntries: 100 } });
    const report = await sync.toHost();
    expect(report).toMatchObject({ copied: 1, bytes: 300_000, complete: false });
    expect(report.skipped).toMatchObject([{ code: "DISK_FULL" }]);
    // A file that is replaced makes room for its successor.
    const [kept] = readdirSync(host);
    writeFileSync(join(inside, kept!), Buffer.alloc(400_000, 3));
    rmSync(join(inside, kept === "a" ? "b" : "a"));
    expect(await sync.toHost()).toMatchObject({ copied: 1, complete: true });
  });

  it("cannot hide files here under the name of an unfinished one", async () => {
    const sync = await open({ limits: { maxBytes: 1_000_000, maxEntries: 100 } });
    const name = (count: number) => `.skerry-${String(count).padStart(18, "0")}.tmp`;
    for (let count = 0; count < 4; count++) {
      rmSync(join(inside, name(count - 1)), { force: true });
      writeFileSync(join(inside, name(count)), Buffer.alloc(900_000));
      const report = await sync.toHost();
      expect(report.skipped).toMatchObject([{ path: name(count), code: "FILE_DENIED" }]);
    }
    expect(readdirSync(host)).toEqual([]);
  });

  it("cannot pass a sparse file of a terabyte, or one that it calls small", async () => {
    writeFileSync(join(inside, "sparse"), "");
    truncateSync(join(inside, "sparse"), 2 ** 40);
    const lying = fakeFind(
      `case "$*" in *-mindepth*) printf 'f 644 5 1 1 1\\n./sparse\\0' ;; *) exec /usr/bin/find "$@" ;; esac`,
    );
    for (const programs of [{}, { find: lying }]) {
      const sync = await open({ limits: { maxBytes: 1_000_000, maxEntries: 100 } }, programs);
      const report = await sync.toHost();
      expect(report).toMatchObject({ copied: 0, complete: false, skipped: [{ code: "DISK_FULL" }] });
      expect(readdirSync(host)).toEqual([]);
      await guest.stop();
    }
  });

  it("cannot make more files here than it may have", async () => {
    for (let index = 0; index < 30; index++) writeFileSync(join(inside, String(index)), "");
    const sync = await open({ limits: { maxBytes: 1000, maxEntries: 20 } });
    expect((await sync.toHost()).complete).toBe(false);
    expect(readdirSync(host).length).toBeLessThanOrEqual(20);
  });

  it.each([
    ["that is no listing", "echo hello; printf '\\0'"],
    ["with a path that leaves", "printf 'f 644 1 1 1 1\\n./../../escaped\\0'"],
    ["with an absolute path", "printf 'f 644 1 1 1 1\\n/etc/passwd\\0'"],
  ])("cannot pass off an answer %s", async (_, body) => {
    writeFileSync(join(host, "kept"), "1");
    const sync = await open({}, { find: fakeFind(body) });
    await expect(sync.toHost()).rejects.toThrow(expect.objectContaining({ code: "FILE_FAILED" }));
    expect(readdirSync(host)).toEqual(["kept"]);
  });

  it("cannot list a file beneath a file, or call a link a directory, to get out", async () => {
    const outside = join(base, "outside");
    mkdirSync(outside);
    symlinkSync(outside, join(host, "out"));
    mkdirSync(join(inside, "out"));
    writeFileSync(join(inside, "out/x"), "1");
    writeFileSync(join(inside, "f"), "1");
    const listing = "printf 'f 644 1 1 1 1\\n./f\\0f 644 1 1 1 2\\n./f/g\\0f 644 1 1 1 3\\n./out/x\\0'";
    const sync = await open(
      {},
      { find: fakeFind(`case "$*" in *-mindepth*) ${listing} ;; *) exec /usr/bin/find "$@" ;; esac`) },
    );
    const report = await sync.toHost();
    expect(report.complete).toBe(false);
    expect(readdirSync(outside)).toEqual([]);
  });

  it("leaves whole files when it dies on the way, and says so", async () => {
    for (let index = 0; index < 5; index++) writeFileSync(join(inside, `f${index}`), "old");
    const sync = await open();
    await sync.toHost();
    const before = contents(host);
    for (let index = 0; index < 5; index++)
      writeFileSync(join(inside, `f${index}`), Buffer.alloc(20_000_000, index));
    const copying = sync.toHost();
    copying.catch(() => undefined);
    while (!readdirSync(host).some((name) => name.endsWith(".tmp"))) await new Promise(setImmediate);
    await guest.stop();
    await expect(copying).rejects.toThrow();
    expect(contents(host)).toEqual(before);
  });

  it("cannot pass on half of a file that is being written", async () => {
    const sync = await open();
    writeFileSync(join(inside, "log"), "start");
    await sync.toHost();
    // Every time it is looked at it has changed.
    const growing = fakeFind(`echo more >> "${inside}/log"; exec /usr/bin/find "$@"`);
    await guest.stop();
    const restless = await open({}, { find: growing });
    const report = await restless.toHost();
    expect(report).toMatchObject({ complete: false, skipped: [{ path: "log", code: "FILE_FAILED" }] });
    expect(readFileSync(join(host, "log"), "utf8")).toBe("start");
    // Nobody comes again: better what there is than nothing.
    expect((await restless.toHost({ last: true })).complete).toBe(false);
    expect(readFileSync(join(host, "log"), "utf8")).toContain("more");
  });
});

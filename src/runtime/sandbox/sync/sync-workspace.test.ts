import { execFileSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  contents,
  createSync,
  host,
  inside,
  open,
  useSyncedFiles,
} from "../../../../test/setup/synced-files.js";

const RUNS = Number(process.env["SYNC_MODEL_RUNS"] ?? 60);
const DONE = { skipped: [], complete: true };

useSyncedFiles();

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
            const sync = createSync();
            for (const each of common) apply(host, each);
            await sync.toContainer();
            for (const each of hosts) apply(host, each);
            // Two files of one size, written within one tick of the kernel's clock, are taken for the same.
            await setTimeout(10);
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

import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { createHash } from "node:crypto";
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { Capabilities } from "../../runtime/backends/index.js";
import type { RunningSandbox } from "../../runtime/sandbox/index.js";
import { SandboxManager } from "../manager/index.js";
import type { ConformanceCase } from "./conformance-case.js";

/** A kernel of its own has named pipes to itself: in a directory that it shares with the host there is none. */
function keepsPipes({ isolation, sharedWorkspace }: Capabilities): boolean {
  return isolation === "kernel" && sharedWorkspace;
}

/** Files of the session, from both sides. */
export const fileCases: readonly ConformanceCase[] = [
  {
    title: "shares files both ways, byte for byte",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, index) => index & 0xff));
      await sandbox.files.write("data/in.bin", bytes);
      equal(
        (await sandbox.exec(["sh", "-c", "cp data/in.bin out.bin && wc -c < out.bin"])).stdout.trim(),
        "70000",
      );
      deepEqual(await sandbox.files.read("out.bin"), bytes);
      await sandbox.files.writeStream("big.bin", Readable.from([bytes, bytes]));
      equal((await sandbox.files.stat("big.bin")).size, 140_000);
      deepEqual(
        (await sandbox.files.list(".", { recursive: true })).map(({ path, type }) => [path, type]),
        [
          ["big.bin", "file"],
          ["data", "directory"],
          ["data/in.bin", "file"],
          ["out.bin", "file"],
        ],
      );
      await sandbox.files.remove("data", { recursive: true });
      await rejects(sandbox.files.read("data/in.bin"), { code: "FILE_NOT_FOUND" });
    },
  },
  {
    title: "lets programs inside change files that were put in",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      await sandbox.files.write("notes/a.txt", "one\n");
      const result = await sandbox.exec([
        "sh",
        "-c",
        "echo two >> notes/a.txt && mv notes/a.txt notes/b.txt && mkdir notes/c",
      ]);
      equal(result.exitCode, 0, result.stderr);
      equal(await sandbox.files.readText("notes/b.txt"), "one\ntwo\n");
    },
  },
  {
    title: "says which files an execution wrote and deleted",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      await sandbox.files.write("keep.txt", "k");
      await sandbox.files.write("change.txt", "c");
      await sandbox.files.write("delete.txt", "d");
      const result = await sandbox.runCode(
        "import os\nopen('change.txt','w').write('x')\nos.makedirs('d')\nopen('d/new.txt','w').write('n')\nos.remove('delete.txt')\nopen('keep.txt').read()",
        { language: "python" },
      );
      equal(result.exitCode, 0, result.stderr);
      deepEqual([result.filesWritten, result.filesDeleted], [["change.txt", "d/new.txt"], ["delete.txt"]]);
      deepEqual((await sandbox.exec(["true"])).filesWritten, []);
    },
  },
  {
    title: "tells watchers what a program did to the files, and is as idle as before",
    async run({ manager }) {
      await manager.execute({ sessionId: "watched", command: "echo 1 > a" });
      const sandbox = await manager.startSandbox("watched");
      using watch = await manager.watchFiles({ sessionId: "watched" });
      const events = watch[Symbol.asyncIterator]();
      const next = async () => (await events.next()).value;
      deepEqual(await next(), { type: "watching", path: ".", recursive: true });
      await manager.execute({ sessionId: "watched", command: "mkdir d; mv a d/b" });
      const usedAt = sandbox.lastUsedAt;
      deepEqual(await next(), { type: "deleted", path: "a", entryType: "file" });
      deepEqual(await next(), { type: "created", path: "d", entryType: "directory" });
      deepEqual(await next(), { type: "created", path: "d/b", entryType: "file" });
      equal(sandbox.lastUsedAt, usedAt);
      await manager.deleteSession("watched");
      deepEqual(await next(), { type: "ended", why: "The session has ended" });
    },
  },
  {
    title: "never reads or writes outside the workspace for the host",
    async run({ createSandbox, capabilities }) {
      const sandbox = await createSandbox();
      await sandbox.exec(["sh", "-c", "ln -s /etc/passwd link; ln -s /etc dir; mkfifo pipe"]);
      for (const path of ["link", "dir/passwd", "../x", "/etc/passwd", "a/../../x"]) {
        await rejects(sandbox.files.read(path), { code: "PATH_TRAVERSAL" }, path);
      }
      await rejects(sandbox.files.read("pipe"), {
        code: keepsPipes(capabilities) ? "FILE_NOT_FOUND" : "FILE_TYPE",
      });
      await rejects(sandbox.files.write("dir/planted", "x"), { code: "PATH_TRAVERSAL" });
    },
  },
  {
    title: "streams large files both ways",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const block = Buffer.from(Array.from({ length: 65_536 }, (_, index) => (index * 31) & 0xff));
      const hash = createHash("sha256");
      for (let index = 0; index < 128; index++) hash.update(block);
      const wanted = hash.digest("hex");
      await sandbox.files.writeStream("big.bin", Readable.from(Array.from({ length: 128 }, () => block)));
      equal((await sandbox.exec(["sha256sum", "big.bin"])).stdout.split(" ")[0], wanted);
      const back = createHash("sha256");
      for await (const chunk of await sandbox.files.readStream("big.bin")) back.update(chunk as Buffer);
      equal(back.digest("hex"), wanted);
    },
  },
  {
    title: "shows and removes what programs leave behind, whatever it is and whatever its name",
    async run({ createSandbox, capabilities }) {
      const sandbox = await createSandbox();
      const hasPipe = !keepsPipes(capabilities);
      const left = await sandbox.exec([
        "sh",
        "-c",
        "mkdir -p 'a b/-rf' locked/in; echo x > 'a b/-rf/two\nlines'; ln -s /nowhere dangling; mkfifo pipe; touch locked/in/f; chmod 0 locked/in",
      ]);
      equal(left.exitCode, 0, left.stderr);
      const entries = await sandbox.files.list(".", { recursive: true });
      deepEqual(
        entries.filter(({ path }) => !path.startsWith("locked/in/")).map(({ path, type }) => [path, type]),
        [
          ["a b", "directory"],
          ["a b/-rf", "directory"],
          ["a b/-rf/two\nlines", "file"],
          ["dangling", "symlink"],
          ["locked", "directory"],
          ["locked/in", "directory"],
          ...(hasPipe ? [["pipe", "other"]] : []),
        ],
      );
      equal(await sandbox.files.readText("a b/-rf/two\nlines"), "x\n");
      equal((await sandbox.files.stat("dangling")).type, "symlink");
      deepEqual([await sandbox.files.exists("pipe"), await sandbox.files.exists("none")], [hasPipe, false]);
      await rejects(sandbox.files.remove("a b"), { code: "FILE_EXISTS" });
      await rejects(sandbox.files.remove("none"), { code: "FILE_NOT_FOUND" });
      await sandbox.exec(["chmod", "700", "locked/in"]);
      for (const path of ["a b", "dangling", "locked", ...(hasPipe ? ["pipe"] : [])]) {
        await sandbox.files.remove(path, { recursive: true });
      }
      deepEqual(await sandbox.files.list(), []);
    },
  },
  {
    title: "creates a file only where nothing is, and refuses to write or remove what is protected",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      await sandbox.exec(["sh", "-c", "ln -s /nowhere link; mkdir -p d app; echo KEY > app/.env"]);
      for (const path of ["link", "d"]) {
        await rejects(sandbox.files.writeNew(path, "x"), { code: "FILE_EXISTS" }, path);
      }
      await sandbox.files.writeNew("d/new", "x");
      equal((await sandbox.exec(["cat", "d/new"])).stdout, "x");
      await rejects(sandbox.files.write("app/.env", "x"), { code: "FILE_DENIED" });
      await rejects(sandbox.files.remove("app/.env"), { code: "FILE_DENIED" });
      await rejects(sandbox.files.remove("app", { recursive: true }), { code: "FILE_DENIED" });
      equal(await sandbox.files.readText("app/.env"), "KEY\n");
    },
  },
  {
    title: "takes the files of a call in, and brings out what it asks for",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      await sandbox.files.writeAll([
        { path: "in/run.sh", content: "#!/bin/sh\necho result > out/a.txt\n", mode: 0o755 },
        { path: "out/old.bin", content: Buffer.from([0, 255]) },
      ]);
      const result = await sandbox.exec(["sh", "-c", "in/run.sh && ln -s /etc/passwd out/link.txt"]);
      deepEqual([result.exitCode, result.filesWritten], [0, ["out/a.txt", "out/link.txt"]], result.stderr);
      const { files, skipped } = await sandbox.files.collect(["out/*.txt", "out/old.bin", "none"]);
      deepEqual(
        files.map(({ path, content }) => [path, content.toString("latin1")]),
        [
          ["out/a.txt", "result\n"],
          ["out/old.bin", "\0\xff"],
        ],
      );
      deepEqual(
        skipped.map(({ path, code }) => [path, code]),
        [
          ["none", "FILE_NOT_FOUND"],
          ["out/link.txt", "PATH_TRAVERSAL"],
        ],
      );
    },
  },
  {
    title: "does not read a file into memory that is larger than may be",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const made = await sandbox.exec(["truncate", "-s", "100M", "sparse"]);
      equal(made.exitCode, 0, made.stderr);
      await rejects(sandbox.files.read("sparse"), { code: "FILE_TOO_LARGE" });
      equal((await sandbox.files.stat("sparse")).size, 100 * 1024 * 1024);
    },
  },
  {
    title: "starts a new session with the files of the configured source",
    async run({ backend, stateDir, config: given }) {
      const { sandbox } = given;
      const source = join(stateDir, "source");
      mkdirSync(join(source, "init/empty"), { recursive: true });
      mkdirSync(join(source, "skills/one"), { recursive: true });
      writeFileSync(join(source, "init/run.sh"), "#!/bin/sh\necho ran\n");
      chmodSync(join(source, "init/run.sh"), 0o755);
      writeFileSync(join(source, "init/.env"), "KEY=1");
      symlinkSync("run.sh", join(source, "init/link"));
      writeFileSync(join(source, "skills/one/SKILL.md"), "# one\n");
      const config = {
        ...given,
        sandbox: { ...sandbox, workspace: { ...sandbox.workspace, source } },
      };
      const manager = new SandboxManager({ backend, stateDir, config, handleSignals: false });
      try {
        const sandbox = await manager.startSandbox("filled");
        deepEqual(
          (await sandbox.files.list(".", { recursive: true })).map(({ path, type }) => `${path} ${type}`),
          [
            ".env file",
            "empty directory",
            "link symlink",
            "run.sh file",
            "skills directory",
            "skills/one directory",
            "skills/one/SKILL.md file",
          ],
        );
        const ran = await sandbox.exec([
          "sh",
          "-c",
          "./link && echo more >> skills/one/SKILL.md && rmdir empty",
        ]);
        deepEqual([ran.stdout, ran.filesWritten], ["ran\n", ["skills/one/SKILL.md"]], ran.stderr);
        await manager.cleanupSession("filled");
        ok(
          !(await (await manager.startSandbox("filled")).files.exists("empty")),
          "it was filled a second time",
        );
      } finally {
        await manager.close();
      }
    },
  },
  {
    title: "keeps a session's files in a snapshot, brings them back, and forks them",
    async run({ manager }) {
      const sandbox = await manager.startSandbox("kept");
      const look = async ({ files }: RunningSandbox) =>
        (await files.list(".", { recursive: true })).map(({ path, type, mode, size }) =>
          type === "file" ? `${path} ${mode.toString(8)} ${size}` : `${path} ${type}`,
        );
      await sandbox.exec([
        "sh",
        "-c",
        "mkdir -p a/b && echo one > a/b/f && chmod 750 a/b/f && ln -s b/f a/link",
      ]);
      await sandbox.files.write("large.bin", Buffer.alloc(300_000, 7));
      const before = await look(sandbox);
      const { id, files, bytes } = await sandbox.snapshot();
      deepEqual([files, bytes], [2, 300_004]);
      const change = "rm -r a; mkdir large.dir; echo x > large.dir/new; echo two > a; echo more >> large.bin";
      equal((await sandbox.exec(["sh", "-c", change])).exitCode, 0);
      const report = await sandbox.restore(id);
      deepEqual(report, { written: 5, removed: 3, unchanged: 0, skipped: [] });
      deepEqual(await look(sandbox), before);
      equal((await sandbox.exec(["cat", "a/link"])).stdout, "one\n");
      deepEqual((await sandbox.exec(["true"])).fileChanges, []);
      const forked = await sandbox.fork("forked", { snapshotId: id });
      deepEqual(await look(forked), before);
      equal((await forked.exec(["sh", "-c", "echo own >> a/b/f && cat a/link"])).stdout, "one\nown\n");
      equal(await sandbox.files.readText("a/b/f"), "one\n");
      await manager.cleanupSession("kept");
      deepEqual(await look(await manager.startSandbox("kept")), before);
      equal(await manager.snapshots("kept").delete(id), true);
    },
  },
];

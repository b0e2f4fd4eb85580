import { deepEqual, equal, rejects } from "node:assert/strict";
import { Readable } from "node:stream";
import type { Case } from "./conformance.js";

/** Files of the session, from both sides. */
export const fileCases: readonly Case[] = [
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
      const result = await sandbox.runCode({
        language: "python",
        code: "import os\nopen('change.txt','w').write('x')\nos.makedirs('d')\nopen('d/new.txt','w').write('n')\nos.remove('delete.txt')\nopen('keep.txt').read()",
      });
      equal(result.exitCode, 0, result.stderr);
      deepEqual([result.filesWritten, result.filesDeleted], [["change.txt", "d/new.txt"], ["delete.txt"]]);
      deepEqual((await sandbox.exec(["true"])).filesWritten, []);
    },
  },
  {
    title: "never reads or writes outside the workspace for the host",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      await sandbox.exec(["sh", "-c", "ln -s /etc/passwd link; ln -s /etc dir; mkfifo pipe"]);
      for (const path of ["link", "dir/passwd", "../x", "/etc/passwd", "a/../../x"]) {
        await rejects(sandbox.files.read(path), { code: "PATH_TRAVERSAL" }, path);
      }
      await rejects(sandbox.files.read("pipe"), { code: "FILE_TYPE" });
      await rejects(sandbox.files.write("dir/planted", "x"), { code: "PATH_TRAVERSAL" });
    },
  },
];

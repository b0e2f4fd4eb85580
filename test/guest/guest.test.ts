import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { encodeFields, encodeFrame, Tag, ToGuest } from "../../src/runtime/wire/frames.js";
import type { GuestConnection } from "../../src/runtime/wire/index.js";
import {
  complaints,
  directory,
  ENV,
  guest,
  ROOT,
  SANITIZED,
  start,
  useSanitizedGuest,
  withGuest,
} from "./sanitized-guest.js";

useSanitizedGuest();

async function run(
  connection: GuestConnection,
  argv: string[],
  stdin = "",
  env = {},
): Promise<[string, string, number | null]> {
  const handle = connection.run({ argv, env: { PATH: "/usr/bin:/bin", ...env }, cwd: directory });
  handle.stdin.end(stdin);
  const [stdout, stderr, exit] = await Promise.all([text(handle.stdout), text(handle.stderr), handle.exit]);
  return [stdout, stderr, exit.exitCode];
}

describe("the guest, built with sanitizers", () => {
  it("runs hundreds of commands, many at once", async () => {
    await withGuest(async (connection) => {
      for (let round = 0; round < 10; round++) {
        const results = await Promise.all(
          Array.from({ length: 30 }, (_, index) =>
            run(connection, ["sh", "-c", `cat; echo ${index} >&2; exit ${index}`], `in-${index}`),
          ),
        );
        expect(results).toEqual(results.map((_, index) => [`in-${index}`, `${index}\n`, index]));
      }
    });
  });

  it("does not take root's place for gVisor's where the kernel is another", () => {
    const filter = Buffer.from([8, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0xff, 0x7f]);
    const options = { env: ENV, input: filter, encoding: "utf8" } as const;
    for (const ids of [
      ["1000", "1000"],
      ["0", "0"],
    ]) {
      const { status, stdout, stderr } = spawnSync(SANITIZED, ["--gvisor", ...ids], options);
      expect([status, stdout]).toEqual([70, ""]);
      expect(stderr).toContain("this runtime is not gVisor");
    }
  });

  it("reads and writes files, and refuses what is no regular file", async () => {
    await withGuest(async (connection) => {
      const content = Buffer.alloc(3_000_000, "skerry ");
      const path = join(directory, "a/b/file.bin");
      await connection.writeFile(path, 0o640, content);
      expect(readFileSync(path).equals(content)).toBe(true);
      await connection.writeFile(path, 0o600, Readable.from([Buffer.from("short")]));
      expect(await text(connection.readFile(path))).toBe("short");
      symlinkSync("/etc/passwd", join(directory, "link"));
      execFileSync("mkfifo", [join(directory, "fifo")]);
      await expect(text(connection.readFile(join(directory, "link")))).rejects.toMatchObject({
        code: "FILE_DENIED",
      });
      await expect(text(connection.readFile(join(directory, "fifo")))).rejects.toMatchObject({
        code: "FILE_TYPE",
      });
      await expect(text(connection.readFile(directory))).rejects.toMatchObject({ code: "FILE_TYPE" });
      await expect(text(connection.readFile(join(directory, "none")))).rejects.toMatchObject({
        code: "FILE_NOT_FOUND",
      });
      await expect(connection.writeFile("relative", 0o600, Buffer.from("x"))).rejects.toMatchObject({
        code: "FILE_FAILED",
      });
    });
  });

  it("leaves no half-written file when the writer gives up", async () => {
    await withGuest(async (connection) => {
      const broken = Readable.from(
        (async function* () {
          yield Buffer.alloc(100_000);
          throw new Error("gave up");
        })(),
      );
      await expect(connection.writeFile(join(directory, "half"), 0o600, broken)).rejects.toMatchObject({
        code: "FILE_FAILED",
      });
      await connection.ping();
      expect(execFileSync("ls", ["-A", directory]).toString()).toBe("");
    });
  });

  it("kills what it runs when the host goes away", async () => {
    const marker = join(directory, "alive");
    await withGuest(async (connection) => {
      const handle = connection.run({
        argv: ["sh", "-c", `(setsid sh -c 'sleep 1; touch ${marker}' &); echo up; sleep 60`],
        env: { PATH: "/bin" },
      });
      handle.exit.catch(() => undefined);
      await once(handle.stdout, "data");
    });
    await new Promise((resolve) => setTimeout(resolve, 1300));
    expect(existsSync(marker)).toBe(false);
  });

  it("gives a program to a warm interpreter that is ready, and starts it plainly otherwise", async () => {
    await withGuest(async (connection) => {
      const zygote = join(ROOT, "guest/runners/python/zygote/python-zygote.py");
      const program = join(directory, "main.py");
      writeFileSync(program, "import os; print(os.getppid() != 0, 'ran')");
      const env = { PATH: "/usr/bin:/bin", LANG: "C.UTF-8" };
      const warm = connection.warm({ argv: ["python3", zygote, '{"preload":[]}'], kind: "fork", env });
      await warm.ready;
      const job = JSON.stringify({ path: program, argv: [program], cwd: directory, env });
      const request = { argv: ["python3", program], env, cwd: directory, warm: { id: warm.id, job } };
      for (const expected of [true, false]) {
        const handle = connection.run(request);
        handle.stdin.end();
        expect([await text(handle.stdout), (await handle.exit).warm]).toEqual(["True ran\n", expected]);
        warm.stop();
        await warm.gone;
      }
    });
  });

  it("survives any frames of a broken host", async () => {
    const type = fc.constantFrom(...Object.values(ToGuest), 0x7f);
    const fields = fc
      .array(
        fc.tuple(
          fc.constantFrom(...Object.values(Tag), 99),
          fc.oneof(
            fc.uint8Array({ maxLength: 6 }),
            fc.constantFrom(Buffer.from("/bin/true"), Buffer.from("/tmp"), Buffer.from("A=b")),
          ),
        ),
        { maxLength: 6 },
      )
      .map((list) => encodeFields(list));
    const frame = fc.tuple(
      type,
      fc.integer({ min: 0, max: 5 }),
      fc.oneof(fields, fc.uint8Array({ maxLength: 12 })),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 25 }), async (frames) => {
        start();
        guest.stdout!.resume();
        const exited = once(guest, "exit");
        // A file that is written stays in the test's own directory.
        for (const [kind, id, payload] of frames)
          if (kind !== ToGuest.write) guest.stdin!.write(encodeFrame(kind, id, payload));
        guest.stdin!.end();
        await exited;
        expect([0, 70], await complaints).toContain(guest.exitCode);
      }),
      { numRuns: 120 },
    );
  });
});

import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer, connect as dial } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Duplex, Readable } from "node:stream";
import { text } from "node:stream/consumers";
import fc from "fast-check";
import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { waitUntil } from "../../src/testing/wait-until.js";
import { encodeFields, encodeFrame, Tag, ToGuest } from "../../src/wire/frames.js";
import { GuestConnection } from "../../src/wire/index.js";

const ROOT = join(import.meta.dirname, "../..");
const SANITIZED = join(ROOT, "build/skerry-guest-sanitized");
/** What the sanitizers exit with when they find something; the guest itself never does. */
const FINDING = 99;
const ENV = {
  ASAN_OPTIONS: `exitcode=${FINDING}:detect_leaks=0`,
  UBSAN_OPTIONS: `halt_on_error=1:exitcode=${FINDING}`,
};

let directory: string;
let guest: ChildProcess;
let complaints: Promise<string>;

beforeAll(() => {
  execFileSync(join(ROOT, "guest/build.sh"), ["--sanitize"], { stdio: "inherit" });
}, 120_000);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "skerry-guest-"));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

function start(descriptors?: number): void {
  const limit = descriptors === undefined ? "" : `ulimit -n ${descriptors}; `;
  guest = spawn("/bin/sh", ["-c", `${limit}exec "$0"`, SANITIZED], {
    env: ENV,
    cwd: directory,
    stdio: ["pipe", "pipe", "pipe"],
  });
  guest.stdin!.on("error", () => undefined);
  complaints = text(guest.stderr!);
}

/** Runs the test against a guest built with sanitizers, and demands that they found nothing. */
async function withGuest(
  test: (connection: GuestConnection) => Promise<void>,
  { descriptors }: { readonly descriptors?: number } = {},
): Promise<void> {
  start(descriptors);
  const connection = new GuestConnection({ fromGuest: guest.stdout!, toGuest: guest.stdin! });
  const exited = once(guest, "exit");
  try {
    await connection.ready;
    await test(connection);
  } finally {
    connection.close();
    await exited;
  }
  expect(await complaints).toBe("");
  expect(guest.exitCode).toBe(0);
}

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

/** Reads to the end without destroying the other direction, as iterating would. */
async function untilEnd(stream: Readable): Promise<string> {
  const parts: Buffer[] = [];
  stream.on("data", (part: Buffer) => parts.push(part));
  await once(stream, "end");
  return Buffer.concat(parts).toString();
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
  }, 60_000);

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

  it("carries connections to a port inside, with half-closing", async () => {
    const server = createServer({ allowHalfOpen: true }, async (socket) => {
      const request = await untilEnd(socket);
      socket.end(`${request.length} ${"x".repeat(2_000_000)}`);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    try {
      await withGuest(async (connection) => {
        const stream = await connection.connect(port);
        stream.end(Buffer.alloc(1_500_000));
        const answer = await untilEnd(stream);
        expect(answer.length).toBe("1500000 ".length + 2_000_000);
        expect(answer.startsWith("1500000 ")).toBe(true);
      });
    } finally {
      server.close();
    }
    await withGuest(async (connection) => {
      await expect(connection.connect(port)).rejects.toMatchObject({ code: "EXECUTION_FAILED" });
    });
  });

  it("hands connections made inside to the host", async () => {
    await withGuest(async (connection) => {
      const port = 40_000 + (process.pid % 20_000);
      await connection.listen(port, async (stream) => {
        stream.end(`you said ${await untilEnd(stream)}`);
      });
      const answers = await Promise.all(
        Array.from({ length: 20 }, async (_, index) => {
          const socket = dial({ port, host: "127.0.0.1", allowHalfOpen: true });
          socket.end(`hello ${index}`);
          return untilEnd(socket);
        }),
      );
      expect(answers).toEqual(answers.map((_, index) => `you said hello ${index}`));
    });
  });

  it("brings many writes in their order, and leaves bytes alone that change after they were taken", async () => {
    await withGuest(async (connection) => {
      const port = 24_000 + (process.pid % 1000);
      const reused = Buffer.alloc(100_000);
      await connection.listen(port, async (stream) => {
        stream.on("error", () => undefined).resume();
        for (let round = 0; round < 20; round++) {
          await new Promise((taken) => stream.write(reused.fill(0x61 + round), taken));
        }
        for (let at = 0; at < 50_000; at++) stream.write(String(at % 10));
        stream.end();
      });
      const socket = dial({ port, host: "127.0.0.1" });
      const rounds = Array.from({ length: 20 }, (_, round) =>
        String.fromCharCode(0x61 + round).repeat(100_000),
      );
      const answer = await untilEnd(socket);
      expect(answer === rounds.join("") + "0123456789".repeat(5000)).toBe(true);
    });
  });

  it("brings what the host sent before its end to a program that reads late", async () => {
    await withGuest(async (connection) => {
      const port = 20_000 + (process.pid % 1000);
      const streams: Duplex[] = [];
      await connection.listen(port, (stream) => streams.push(stream.on("error", () => undefined).resume()));
      const open = async () => {
        const socket = dial({ port, host: "127.0.0.1", allowHalfOpen: true });
        socket.end("now");
        while (streams.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
        return { socket, stream: streams.pop()! };
      };
      // As much as fits between a host that writes and a program that does not read.
      const full = await open();
      let fits = 0;
      for (let isStuck = false; !isStuck; ) {
        const written = new Promise<boolean>((resolve) =>
          full.stream.write(Buffer.alloc(16_384), () => resolve(false)),
        );
        isStuck = await Promise.race([
          written,
          new Promise<boolean>((resolve) => setTimeout(() => resolve(true), 300)),
        ]);
        if (!isStuck) fits += 16_384;
      }
      full.socket.destroy();
      const { socket, stream } = await open();
      stream.end(Buffer.alloc(fits - 128 * 1024));
      await new Promise((resolve) => stream.once("close", resolve));
      await connection.ping();
      expect((await untilEnd(socket)).length).toBe(fits - 128 * 1024);
    });
  });

  it("tells the host that a program closed its connection in the middle", async () => {
    await withGuest(async (connection) => {
      const port = 21_000 + (process.pid % 1000);
      const closed: Promise<unknown>[] = [];
      await connection.listen(port, (stream) => {
        stream.on("error", () => undefined).resume();
        closed.push(new Promise((resolve) => stream.once("close", resolve)));
        const more = () => {
          while (!stream.destroyed && stream.write(Buffer.alloc(64 * 1024)));
          stream.once("drain", more);
        };
        more();
      });
      for (const leave of ["destroy", "resetAndDestroy"] as const) {
        const socket = dial({ port, host: "127.0.0.1" });
        await once(socket, "data");
        socket[leave]();
      }
      await Promise.all(closed);
      expect(closed).toHaveLength(2);
    });
  });

  it("keeps room for the host however many connections are made inside", async () => {
    await withGuest(async (connection) => {
      const port = 22_000 + (process.pid % 1000);
      let accepted = 0;
      await connection.listen(port, (stream) => {
        accepted++;
        stream.on("error", () => undefined).resume();
      });
      const sockets = Array.from({ length: 380 }, () =>
        dial({ port, host: "127.0.0.1" }).on("error", () => undefined),
      );
      while (accepted < 256) await new Promise((resolve) => setTimeout(resolve, 5));
      await connection.ping();
      expect(accepted).toBe(256);
      const handle = connection.run({ argv: ["true"], env: { PATH: "/bin" } });
      expect((await handle.exit).exitCode).toBe(0);
      for (const socket of sockets.slice(0, 100)) socket.destroy();
      await connection.ping();
      for (const socket of sockets) socket.destroy();
    });
  });

  it.each([32, 33])(
    "waits with %i descriptors, all taken, and accepts again when it has some",
    async (descriptors) => {
      const cpuTicks = () =>
        readFileSync(`/proc/${guest.pid}/stat`, "utf8")
          .split(" ")
          .slice(13, 15)
          .reduce((sum, each) => sum + Number(each), 0);
      await withGuest(
        async (connection) => {
          const port = 23_000 + (process.pid % 1000);
          await connection.listen(port, (stream) => void stream.on("error", () => undefined).pipe(stream));
          const sockets = Array.from({ length: 30 }, () =>
            dial({ port, host: "127.0.0.1" }).on("error", () => undefined),
          );
          await waitUntil(() => readdirSync(`/proc/${guest.pid}/fd`).length >= descriptors - 1);
          const before = cpuTicks();
          await new Promise((resolve) => setTimeout(resolve, 1000));
          expect(cpuTicks() - before).toBeLessThan(30);
          for (const socket of sockets) socket.destroy();
          const late = dial({ port, host: "127.0.0.1" });
          late.end("hello");
          expect(await untilEnd(late)).toBe("hello");
        },
        { descriptors },
      );
    },
  );

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
      const zygote = join(ROOT, "guest/runners/python-zygote.py");
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
  }, 120_000);
});

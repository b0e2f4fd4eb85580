import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { createHash } from "node:crypto";
import { Readable } from "node:stream";
import { waitUntil } from "../../kit/wait-until.js";
import type { ConformanceCase } from "./conformance-case.js";
import { uniqueSeconds } from "./unique-seconds.js";

/** Running commands: what goes in, what comes out, how it ends. */
export const behaviourCases: readonly ConformanceCase[] = [
  {
    title: "tells exit codes apart from failures to run",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      for (const code of [0, 1, 42, 255]) {
        const result = await sandbox.exec(["sh", "-c", `exit ${code}`]);
        deepEqual(
          [result.reason, result.exitCode, result.signal, result.success],
          ["exited", code, null, code === 0],
        );
      }
      await rejects(async () => sandbox.exec(["no-such-command"]), {
        code: "COMMAND_NOT_FOUND",
        message: 'The command "no-such-command" was not found inside the sandbox',
      });
      await rejects(async () => sandbox.exec(["/etc/passwd"]), { code: "COMMAND_NOT_EXECUTABLE" });
    },
  },
  {
    title: "names the signal that ended a command",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      for (const name of ["TERM", "KILL", "SEGV"]) {
        const result = await sandbox.exec(["sh", "-c", `kill -${name} $$`]);
        deepEqual([result.reason, result.exitCode, result.signal], ["signaled", null, `SIG${name}`]);
      }
    },
  },
  {
    title: "streams output while the command runs",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const seen: string[] = [];
      let confirmed = false;
      for await (const event of sandbox.exec(["sh", "-c", "echo one; read go; echo two >&2"], {
        stdin: Readable.from(waitThenAnswer(() => seen.includes("stdout:one\n"))),
      })) {
        if (event.type === "stdout" || event.type === "stderr")
          seen.push(`${event.type}:${event.data.toString()}`);
        else seen.push(event.type);
        if (event.type === "exit") confirmed = event.result.success;
      }
      // The command only goes on after its first line has arrived here.
      deepEqual(seen, ["started", "stdout:one\n", "stderr:two\n", "exit"]);
      ok(confirmed);
    },
  },
  {
    title: "passes standard input as text, bytes and a stream, and an empty one by default",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      equal((await sandbox.exec(["cat"])).stdout, "");
      equal((await sandbox.exec(["cat"], { stdin: "häl\0lo" })).stdout, "häl\0lo");
      const bytes = Buffer.alloc(3_000_000, "0123456789");
      equal((await sandbox.exec(["wc", "-c"], { stdin: bytes })).stdout.trim(), "3000000");
      const parts = Readable.from([bytes.subarray(0, 1_000_000), bytes.subarray(1_000_000)]);
      equal((await sandbox.exec(["wc", "-c"], { stdin: parts })).stdout.trim(), "3000000");
    },
  },
  {
    title: "lets a command ignore its input",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const result = await sandbox.exec(["sh", "-c", "exec 0<&-; echo done"], {
        stdin: Buffer.alloc(5_000_000),
      });
      deepEqual([result.stdout, result.exitCode], ["done\n", 0]);
    },
  },
  {
    title: "gives a command its own environment and nothing of the host's",
    async run({ createSandbox }) {
      process.env["SKERRY_CONFORMANCE_SECRET"] = "visible";
      try {
        const sandbox = await createSandbox();
        const result = await sandbox.exec(["env"], { env: { MINE: "a=b\nc", EMPTY: "" } });
        match(result.stdout, /^MINE=a=b\nc$/m);
        match(result.stdout, /^EMPTY=$/m);
        ok(!result.stdout.includes("SKERRY_CONFORMANCE_SECRET"));
        await rejects(async () => sandbox.exec(["env"], { env: { "A=B": "c" } }), {
          code: "INVALID_ARGUMENT",
        });
        await rejects(async () => sandbox.exec(["env"], { env: { A: "\0" } }), { code: "INVALID_ARGUMENT" });
      } finally {
        delete process.env["SKERRY_CONFORMANCE_SECRET"];
      }
    },
  },
  {
    title: "runs in the workspace, or in the directory it is told",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      equal((await sandbox.exec(["pwd"])).stdout.trim(), sandbox.workspacePath);
      equal((await sandbox.exec(["pwd"], { cwd: "/" })).stdout.trim(), "/");
      await sandbox.files.mkdir("sub");
      equal((await sandbox.exec(["pwd"], { cwd: "sub" })).stdout.trim(), `${sandbox.workspacePath}/sub`);
      await rejects(async () => sandbox.exec(["pwd"], { cwd: "missing" }), { code: "FILE_NOT_FOUND" });
    },
  },
  {
    title: "carries every byte of big and binary output, on both streams",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const program =
        "import sys, threading\nb = bytes(range(256)) * 4096\n" +
        "def w(f):\n    for _ in range(8): f.write(b)\n    f.flush()\n" +
        "t = [threading.Thread(target=w, args=(f,)) for f in (sys.stdout.buffer, sys.stderr.buffer)]\n" +
        "[x.start() for x in t]; [x.join() for x in t]";
      const hashes = { stdout: createHash("sha256"), stderr: createHash("sha256") };
      const expected = createHash("sha256");
      for (let i = 0; i < 8 * 4096; i++) expected.update(ALL_BYTES);
      for await (const event of sandbox.exec(["python3", "-c", program])) {
        if (event.type === "stdout" || event.type === "stderr") hashes[event.type].update(event.data);
      }
      const wanted = expected.digest("hex");
      deepEqual([hashes.stdout.digest("hex"), hashes.stderr.digest("hex")], [wanted, wanted]);
    },
  },
  {
    title: "stops a command that prints more than it may, and says that output was cut",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const result = await sandbox.exec(["yes"], { maxOutputBytes: 100_000 });
      deepEqual([result.reason, result.truncated, result.stdout.length], ["output-limit", true, 100_000]);
      equal((await sandbox.exec(["echo", "alive"])).stdout, "alive\n");
    },
  },
  {
    title: "holds a command back while its output is not read",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const events = sandbox.exec(["head", "-c", "100000000", "/dev/zero"])[Symbol.asyncIterator]();
      await events.next();
      await events.next();
      const before = process.memoryUsage().rss;
      await new Promise((resolve) => setTimeout(resolve, 300));
      ok(process.memoryUsage().rss - before < 32 * 1024 * 1024, "memory of the host grew");
      let bytes = 0;
      for (let next = await events.next(); !next.done; next = await events.next()) {
        if (next.value.type === "stdout") bytes += next.value.data.length;
      }
      ok(bytes > 90_000_000);
    },
  },
  {
    title: "runs many commands at once without mixing them up",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const results = await Promise.all(
        Array.from({ length: 24 }, (_, index) =>
          sandbox.exec(["sh", "-c", `echo out-${index}; echo err-${index} >&2; exit ${index}`]),
        ),
      );
      for (const [index, result] of results.entries()) {
        deepEqual(
          [result.stdout, result.stderr, result.exitCode],
          [`out-${index}\n`, `err-${index}\n`, index],
        );
      }
    },
  },
  {
    title: "ends a command at its timeout, with everything it started",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const seconds = uniqueSeconds();
      const startedAt = performance.now();
      const result = await sandbox.exec(["sh", "-c", escapees(seconds)], { timeoutMs: 700 });
      deepEqual(
        [result.reason, result.success, result.error],
        ["timeout", false, "Execution timeout (0.7s)"],
      );
      ok(performance.now() - startedAt < 6000);
      equal(await survivors(sandbox, seconds), "");
    },
  },
  {
    title: "leaves nothing running after a command has exited",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const seconds = uniqueSeconds();
      const script = `${escapees(seconds).replace("wait", "true")}; echo done`;
      const result = await sandbox.exec(["sh", "-c", script]);
      deepEqual([result.reason, result.stdout], ["exited", "done\n"]);
      equal(await survivors(sandbox, seconds), "");
    },
  },
  {
    title: "does not disturb one command when another one ends",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const long = sandbox.exec([
        "sh",
        "-c",
        "(sleep 0.4; echo child) & sleep 0.1; (setsid sleep 0.1 &); wait; echo parent",
      ]);
      for (let i = 0; i < 10; i++) await sandbox.exec(["sh", "-c", "sleep 30 & true"]);
      equal((await long).stdout, "child\nparent\n");
    },
  },
  {
    title: "cancels a command when the caller's signal says so",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const seconds = uniqueSeconds();
      const controller = new AbortController();
      const running = sandbox.exec(["sh", "-c", `echo up; ${escapees(seconds)}`], {
        signal: controller.signal,
      });
      for await (const { type } of running) if (type === "stdout") controller.abort();
      equal((await running).reason, "cancelled");
      equal(await survivors(sandbox, seconds), "");
      await rejects(async () => sandbox.exec(["true"], { signal: AbortSignal.abort() }), {
        code: "CANCELLED",
      });
    },
  },
  {
    title: "reports processor time and peak memory",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const code =
        "x = bytearray(60_000_000)\nimport time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass";
      const result = await sandbox.exec(["python3", "-c", code]);
      equal(result.exitCode, 0);
      ok(result.cpuTimeMs >= 200, `cpuTimeMs ${result.cpuTimeMs}`);
      ok(result.memoryUsedMb >= 57, `memoryUsedMb ${result.memoryUsedMb}`);
    },
  },
  {
    title: "runs programs of every language it has, with arguments and input",
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const programs: readonly (readonly [string, string])[] = [
        ["python", "import sys; print(sys.argv[1:], sys.stdin.read())"],
        ["javascript", "console.log(process.argv.slice(2), require('fs').readFileSync(0, 'utf8'))"],
        [
          "typescript",
          "const words: string[] = process.argv.slice(2); console.log(words, require('fs').readFileSync(0, 'utf8'))",
        ],
        ["bash", 'echo "$@" "$(cat)"'],
      ];
      for (const [language, code] of programs) {
        // Twice: the second time a warm interpreter may run it.
        for (let round = 0; round < 2; round++) {
          const result = await sandbox.runCode(code, { language, args: ["a b", "c"], stdin: "input" });
          equal(result.exitCode, 0, `${language}: ${result.stderr}`);
          match(result.stdout, /a b.*c.*input/s);
        }
      }
      await rejects(async () => sandbox.runCode("", { language: "cobol" }), {
        code: "LANGUAGE_UNKNOWN",
      });
    },
  },
  {
    title: "opens a terminal with a size that can change",
    needs: ({ terminal }) => terminal,
    async run({ createSandbox }) {
      const sandbox = await createSandbox();
      const terminal = await sandbox.terminal({ rows: 40, columns: 100, argv: ["sh"] });
      let output = "";
      terminal.output.on("data", (chunk: Buffer) => {
        output += chunk.toString();
      });
      terminal.input.write("test -t 0 && stty size\n");
      await waitUntil(() => output.includes("40 100"));
      terminal.resize(50, 120);
      terminal.input.write("stty size\n");
      await waitUntil(() => output.includes("50 120"));
      terminal.input.write("exit 7\n");
      equal((await terminal.exit).exitCode, 7);
    },
  },
];

const ALL_BYTES = Buffer.from(Array.from({ length: 256 }, (_, index) => index));

/** Children that ignore signals, leave the session, and are orphaned on purpose; known by how long they sleep. */
const escapees = (seconds: string) =>
  `trap '' TERM INT HUP; (sleep ${seconds} &); (setsid sh -c 'trap "" TERM; (setsid sleep ${seconds} &) ; sleep ${seconds}' &); sleep 0.1; sleep ${seconds} & wait`;

async function survivors(
  sandbox: Awaited<ReturnType<Parameters<ConformanceCase["run"]>[0]["createSandbox"]>>,
  seconds: string,
): Promise<string> {
  const isEscapee = new RegExp(`^(?:setsid )?(?:sh -c.*)?sleep ${seconds}`);
  const list = await sandbox.exec([
    "sh",
    "-c",
    "for p in /proc/[0-9]*; do tr '\\0' ' ' < $p/cmdline 2>/dev/null; echo; done",
  ]);
  return list.stdout
    .split("\n")
    .filter((line) => isEscapee.test(line.trim()))
    .join();
}

async function* waitThenAnswer(condition: () => boolean): AsyncGenerator<string> {
  await waitUntil(condition);
  yield "go\n";
}

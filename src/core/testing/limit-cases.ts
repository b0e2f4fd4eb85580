import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { ConformanceCase } from "./conformance-case.js";

const MEMORY_BOMB = "x = []\nwhile True: x.append(bytearray(8_000_000))";

/** Every limit a backend claims, reached from inside. */
export const limitCases: readonly ConformanceCase[] = [
  {
    title: "ends a program at the memory limit and says so",
    needs: ({ memoryLimit, endsAtMemoryLimit }) => memoryLimit && endsAtMemoryLimit !== true,
    async run({ createSandbox }) {
      const sandbox = await createSandbox({ memoryMb: 128 });
      const result = await sandbox.exec(["python3", "-c", MEMORY_BOMB]);
      deepEqual([result.reason, result.success], ["memory", false]);
    },
  },
  {
    title: "ends with a program at the memory limit, and says so where the backend can tell",
    needs: ({ memoryLimit, endsAtMemoryLimit }) => memoryLimit && endsAtMemoryLimit === true,
    async run({ createSandbox }) {
      const sandbox = await createSandbox({ memoryMb: 128 });
      try {
        const result = await sandbox.exec(["python3", "-c", MEMORY_BOMB]);
        deepEqual([result.reason, result.success], ["memory", false]);
      } catch (error) {
        // The count goes with the sandbox, and a busy daemon may not tell of it at all.
        equal((error as { code?: unknown }).code, "SANDBOX_LOST");
      }
      equal(await sandbox.isHealthy().catch(() => false), false);
    },
  },
  {
    title: "goes on working after a program reached the memory limit",
    needs: ({ memoryLimit, endsAtMemoryLimit }) => memoryLimit && endsAtMemoryLimit !== true,
    async run({ createSandbox }) {
      const sandbox = await createSandbox({ memoryMb: 128 });
      for (const argv of [
        ["python3", "-c", MEMORY_BOMB],
        ["sh", "-c", `python3 -c '${MEMORY_BOMB}'; exit $?`],
      ]) {
        const result = await sandbox.exec(argv);
        deepEqual([result.reason, result.success], ["memory", false]);
      }
      equal((await sandbox.exec(["echo", "alive"])).stdout, "alive\n");
    },
  },
  {
    title: "limits how many processes there are",
    needs: ({ pidsLimit }) => pidsLimit,
    async run({ createSandbox }) {
      const sandbox = await createSandbox({ pids: 32 });
      const code =
        "import os, time\nn = 0\ntry:\n  while n < 500:\n    if os.fork() == 0: time.sleep(20); os._exit(0)\n    n += 1\nexcept OSError: pass\nprint(n)";
      const result = await sandbox.exec(["python3", "-c", code]);
      const started = Number(result.stdout);
      ok(started > 5 && started < 32, `started ${result.stdout} ${result.stderr}`);
      equal((await sandbox.exec(["echo", "alive"])).stdout, "alive\n");
    },
  },
  {
    title: "limits open files and the size of a file",
    needs: ({ openFilesLimit, fileSizeLimit }) => openFilesLimit && fileSizeLimit,
    async run({ createSandbox }) {
      const sandbox = await createSandbox({ openFiles: 64, fileSizeMb: 1 });
      const files = await sandbox.exec([
        "python3",
        "-c",
        "f = []\ntry:\n  while True: f.append(open('/dev/null'))\nexcept OSError as e: print(len(f), e.errno)",
      ]);
      match(files.stdout, /^[56]\d 24\n$/);
      const big = await sandbox.exec(["sh", "-c", "head -c 5000000 /dev/zero > big; wc -c < big"]);
      equal(big.stdout, "1048576\n");
    },
  },
  {
    title: "limits processor time",
    needs: ({ cpuLimit }) => cpuLimit,
    async run({ createSandbox }) {
      const sandbox = await createSandbox({ cpus: 0.25 });
      const spin =
        "import time\nend = time.monotonic() + 1.2\nwhile time.monotonic() < end: pass\nprint(time.process_time())";
      const before = await sandbox.usage();
      const startedAt = performance.now();
      const result = await sandbox.exec(["python3", "-c", spin]);
      const seconds = (performance.now() - startedAt) / 1000;
      const after = await sandbox.usage();
      // A kernel of its own may take waiting for running: what is counted outside is what the host gave.
      const outside =
        before === undefined || after === undefined ? undefined : after.cpuTimeMs - before.cpuTimeMs;
      const used = outside === undefined ? Number(result.stdout) : outside / 1000;
      // On a slow machine the interpreter's start takes processor time, too: the share counts.
      ok(used > 0.1 && used / seconds < 0.45, `used ${used} s of ${seconds} s with a quarter of a core`);
    },
  },
  {
    title: "limits the workspace in bytes and in files",
    needs: ({ workspaceLimit }) => workspaceLimit,
    async run({ createSandbox }) {
      const sandbox = await createSandbox({ workspaceMb: 16, workspaceInodes: 512 });
      const bytes = await sandbox.exec([
        "sh",
        "-c",
        "head -c 64000000 /dev/zero > big; echo $?; wc -c < big; rm big",
      ]);
      match(bytes.stderr, /No space left on device/);
      ok(Number(bytes.stdout.split("\n")[1]) <= 16 * 1024 * 1024);
      const files = await sandbox.exec(["sh", "-c", "i=0; while touch f$i; do i=$((i+1)); done; echo $i"]);
      ok(Number(files.stdout) > 100 && Number(files.stdout) <= 512, files.stdout);
      await rejects(sandbox.files.write("one-more", "x"), { code: "DISK_FULL" });
    },
  },
  {
    title: "limits temporary files",
    needs: ({ isolates }) => isolates,
    async run({ createSandbox }) {
      const sandbox = await createSandbox({ tmpMb: 8 });
      for (const place of ["/tmp", "/dev/shm"]) {
        const result = await sandbox.exec([
          "sh",
          "-c",
          `head -c 32000000 /dev/zero > ${place}/big; wc -c < ${place}/big; rm ${place}/big`,
        ]);
        match(result.stderr, /No space left on device/, place);
        ok(Number(result.stdout) <= 8 * 1024 * 1024, place);
      }
    },
  },
  {
    title: "refuses limits that it cannot enforce, and values that mean nothing",
    async run({ createSandbox, capabilities }) {
      await rejects(createSandbox({ memoryMb: -1 }), { code: "INVALID_ARGUMENT" });
      await rejects(createSandbox({ cpus: Number.NaN }), { code: "INVALID_ARGUMENT" });
      const claims = [
        ["memoryMb", capabilities.memoryLimit],
        ["cpus", capabilities.cpuLimit],
        ["pids", capabilities.pidsLimit],
        ["workspaceMb", capabilities.workspaceLimit],
      ] as const;
      for (const [limit, claimed] of claims) {
        if (!claimed) await rejects(createSandbox({ [limit]: 64 }), { code: "LIMIT_UNENFORCEABLE" }, limit);
      }
    },
  },
];

import { deepEqual, equal, ok } from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ConformanceCase } from "./conformance-case.js";

const isolates: NonNullable<ConformanceCase["needs"]> = (capabilities) => capabilities.isolates;

/** What a wall must stop. test/attacks/ has the long list; this is the part every author of a backend gets. */
export const isolationCases: readonly ConformanceCase[] = [
  {
    title: "keeps two sandboxes out of each other's sight",
    needs: isolates,
    async run({ createSandbox }) {
      const [one, two] = await Promise.all([createSandbox(), createSandbox()]);
      await one.exec([
        "sh",
        "-c",
        "echo secret > /workspace/s; echo secret > /tmp/s; echo secret > /dev/shm/s",
      ]);
      const server =
        "import socket, time\ns = socket.socket(); s.bind(('127.0.0.1', 45454)); s.listen()\n" +
        "u = socket.socket(socket.AF_UNIX); u.bind('\\0conformance'); u.listen()\nprint('up', flush=True)\ntime.sleep(30)";
      const controller = new AbortController();
      const events = one
        .exec(["python3", "-c", server], { signal: controller.signal })
        [Symbol.asyncIterator]();
      for (let next = await events.next(); next.value?.type !== "stdout"; next = await events.next());
      const look =
        "import os, socket\nfound = [p for p in ('/workspace/s', '/tmp/s', '/dev/shm/s') if os.path.exists(p)]\n" +
        "found += [p for p in os.listdir('/proc') if p.isdigit() and b'45454' in open(f'/proc/{p}/cmdline', 'rb').read() and int(p) != os.getpid()]\n" +
        "for family, address in ((socket.AF_INET, ('127.0.0.1', 45454)), (socket.AF_UNIX, '\\0conformance')):\n" +
        "  try: socket.socket(family).connect(address); found.append(str(address))\n  except OSError: pass\nprint(found)";
      equal((await two.exec(["python3", "-c", look])).stdout, "[]\n");
      controller.abort();
      for (let next = await events.next(); !next.done; next = await events.next());
    },
  },
  {
    title: "hides the host's files, processes and network",
    needs: isolates,
    async run({ createSandbox, stateDir, capabilities }) {
      // A kernel of its own has a /sys of its own.
      const kernel = capabilities.isolation === "kernel" ? "" : ", '/sys/kernel'";
      const secret = join(stateDir, "secret");
      writeFileSync(secret, "secret", { mode: 0o644 });
      const sandbox = await createSandbox();
      const code =
        "import os, socket\nfound = []\n" +
        `for p in (${JSON.stringify(secret)}, '/etc/shadow', '/root', '/proc/1/root/etc/shadow', '/var/run/docker.sock'${kernel}):\n` +
        "  if os.path.exists(p) and os.access(p, os.R_OK): found.append(p)\n" +
        // A container has the directory of its image.
        "if os.path.exists('/home'): found += os.listdir('/home')\n" +
        `if os.path.exists('/proc/${process.pid}') and b'node' in open('/proc/${process.pid}/cmdline', 'rb').read(): found.append('host process')\n` +
        "s = socket.socket(); s.settimeout(1)\ntry: s.connect(('10.255.255.1', 80)); found.append('network')\n" +
        "except OSError as e: assert e.errno in (101, 113), e\nprint(found, os.getuid() != 0)";
      equal((await sandbox.exec(["python3", "-c", code])).stdout, "[] True\n");
    },
  },
  {
    title: "gives its programs no privileges and no way to get any",
    needs: isolates,
    async run({ createSandbox, capabilities }) {
      const sandbox = await createSandbox();
      // gVisor's shows no such line: it has nothing that could give privileges.
      const hasOwnKernel = capabilities.isolation === "kernel";
      const status = await sandbox.exec([
        "grep",
        "-E",
        "^(CapEff|CapPrm|CapBnd|NoNewPrivs|Seccomp):",
        "/proc/self/status",
      ]);
      deepEqual(
        status.stdout
          .split("\n")
          .map((line) => line.split(/\s+/)[1])
          .filter(Boolean),
        ["0000000000000000", "0000000000000000", "0000000000000000", ...(hasOwnKernel ? [] : ["1"]), "2"],
      );
      const unshare = await sandbox.exec(["unshare", "--user", "--map-root-user", "true"]);
      ok(unshare.exitCode !== 0);
    },
  },
];

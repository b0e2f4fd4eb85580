import { spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { temporaryDirectory } from "../../../../../test/setup/clean-up.js";
import { PARALLEL_NODE, PARALLEL_NODE_OUTPUT } from "../../../../../test/setup/parallel-node.js";
import { PARALLEL_FUNCTIONS } from "../../../../../test/setup/parallel-python.js";
import {
  type Attempt,
  ENOSYS,
  EPERM,
  each,
  MARK,
  MARK_MISSING,
  MARKED_PROFILE,
  OPEN_TO_ANYONE,
  PRIVILEGED,
  readOutcomes,
  unnamedCalls,
  writeAttempts,
} from "../../../../../test/setup/seccomp-attempts.js";
import { compileSeccomp } from "./compile.js";
import { PROFILE } from "./profile.js";
import type { SeccompProfile } from "./profile-format.js";
import type { SeccompArch } from "./syscall-numbers.js";

const NOBODY = 65534;
const arch = process.arch as SeccompArch;
const root = temporaryDirectory();
const workspace = join(root, "workspace");

interface Run {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command in bubblewrap under a filter, or under none. Never as root. */
function sandboxed(command: readonly string[], profile: SeccompProfile | undefined, input = ""): Run {
  const optional = ["/lib64", "/etc/alternatives", "/etc/hosts", "/etc/nsswitch.conf", "/etc/passwd"];
  const bwrap = [
    ...["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--ro-bind", "/usr", "/usr"],
    ...["--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib"],
    ...optional.flatMap((path) => ["--ro-bind-try", path, path]),
    ...["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", workspace, "/workspace"],
    ...["--chdir", "/workspace", ...(profile === undefined ? [] : ["--seccomp", "3"]), "--", ...command],
  ];
  const drop = ["setpriv", `--reuid=${NOBODY}`, `--regid=${NOBODY}`, "--clear-groups", "--"];
  const [program, ...args] = process.getuid?.() === 0 ? [...drop, ...bwrap] : bwrap;
  const filter = join(root, "filter.bpf");
  writeFileSync(filter, profile === undefined ? "" : compileSeccomp(profile, arch));
  const descriptor = openSync(filter, "r");
  try {
    return spawnSync(program!, args, {
      input,
      encoding: "utf8",
      env: { PATH: "/usr/bin:/bin", HOME: "/workspace", LANG: "C.UTF-8" },
      stdio: ["pipe", "pipe", "pipe", descriptor],
      timeout: 60_000,
    });
  } finally {
    closeSync(descriptor);
  }
}

/** Why nothing here can run, or undefined. */
function obstacle(): string | undefined {
  if (process.platform !== "linux" || !["x64", "arm64"].includes(arch)) return "needs Linux on x64 or arm64";
  const trial = sandboxed(["true"], undefined);
  if (trial.status !== 0) return `bubblewrap does not work here: ${trial.stderr}`;
  return undefined;
}

/** Sets the workspace up; returns why nothing can run, said aloud, or undefined. */
function prepare(): string | undefined {
  chmodSync(root, 0o755);
  mkdirSync(workspace, { mode: 0o700 });
  if (process.getuid?.() === 0) chownSync(workspace, NOBODY, NOBODY);
  const reason = obstacle();
  if (reason === undefined) return undefined;
  console.warn(`seccomp under bubblewrap skipped: ${reason}`);
  rmSync(root, { recursive: true, force: true });
  return reason;
}

const unavailable = prepare();

/** Makes the calls and says what became of each: "ok", "errno 1", "signal 31". */
function probe(attempts: readonly Attempt[], profile: SeccompProfile | undefined): Record<string, string> {
  const run = sandboxed(["./probe"], profile, writeAttempts(attempts, arch));
  expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: "" });
  return readOutcomes(run.stdout);
}

describe.skipIf(unavailable !== undefined)("the filter, loaded by bubblewrap", () => {
  beforeAll(() => {
    const source = fileURLToPath(new URL("probe.c", import.meta.url));
    const built = spawnSync("gcc", ["-O1", "-static", "-o", join(workspace, "probe"), source], {
      encoding: "utf8",
    });
    expect(built.stderr).toBe("");
  });

  it("refuses what it must with EPERM", () => {
    const attempts = [...OPEN_TO_ANYONE, ...PRIVILEGED];
    expect(probe(attempts, PROFILE)).toEqual(each(attempts, `errno ${EPERM}`));
  });

  it("refuses it itself, not for lack of privileges", () => {
    const attempts = [...OPEN_TO_ANYONE, ...PRIVILEGED];
    expect(probe(attempts, MARKED_PROFILE)).toEqual(each(attempts, `errno ${MARK}`));
  });

  it("is the only thing that refuses most of it", () => {
    const outcomes = probe(OPEN_TO_ANYONE, undefined);
    expect(Object.entries(outcomes).filter(([, outcome]) => outcome === `errno ${EPERM}`)).toEqual([]);
    expect(outcomes).toMatchObject({ "unshare-user": "ok", "ptrace-traceme": "ok", "socket-netlink": "ok" });
  });

  it("refuses every call that the profile does not name", () => {
    const attempts = unnamedCalls(arch);
    expect(attempts.length).toBeGreaterThan(60);
    expect(probe(attempts, MARKED_PROFILE)).toEqual(each(attempts, `errno ${MARK}`));
  });

  it("reports as missing what callers fall back from", () => {
    const names = ["clone3", "io_uring_setup", "io_uring_enter", "io_uring_register", "io_setup"];
    const attempts = names.map((name): Attempt => [name, name]);
    expect(probe(attempts, PROFILE)).toEqual(each(attempts, `errno ${ENOSYS}`));
    expect(probe(attempts, MARKED_PROFILE)).toEqual(each(attempts, `errno ${MARK_MISSING}`));
  });

  it.skipIf(arch !== "x64")("kills a process that makes a 32-bit call", () => {
    expect(probe([["int80", "int80"]], PROFILE)).toEqual({ int80: "signal 31" });
  });

  it.skipIf(arch !== "x64")("refuses x32 numbers, and takes -1 for an unknown call", () => {
    const x32 = (nr: number): string => `${0x40000000 + nr}`;
    const attempts: Attempt[] = [
      ["getpid", x32(39)],
      ["ptrace", x32(521)],
      ["last", "0xfffffffe"],
    ];
    expect(probe(attempts, PROFILE)).toEqual(each(attempts, `errno ${EPERM}`));
    expect(probe([["minus-one", "-1"]], PROFILE)).toEqual({ "minus-one": `errno ${ENOSYS}` });
  });

  it("allows what looks alike and does no harm", () => {
    const attempts: Attempt[] = [
      ["fork", "clone", 17],
      ["socket-unix", "socket", 1, 1, 0],
      ["socket-tcp", "socket", 2, 0x80801, 6],
      ["socket-udp6", "socket", 10, 2, 17],
      ["personality-query", "personality", 0xffffffff],
    ];
    expect(probe(attempts, PROFILE)).toEqual(each(attempts, "ok"));
  });

  /** Runs a command under the filter and expects exactly this output. */
  function expectToWork(command: readonly string[], output: string): void {
    const { status, stdout, stderr } = sandboxed(command, PROFILE);
    expect({ status, stdout, stderr }).toEqual({ status: 0, stdout: output, stderr: "" });
  }

  function has(program: string): boolean {
    return existsSync(join("/usr/bin", program));
  }

  const script = (lines: string): string => `set -eo pipefail\n${lines}`;

  it("suffices for bash pipelines and coreutils", () => {
    const lines = script(`
      seq 1000 | sort -rn | sed -n 1,3p | tr '\\n' ' '
      mkfifo pipe; (echo through > pipe) & cat pipe; wait
      cp -a pipe copy; dd if=/dev/zero of=zero bs=1k count=4 status=none; cat zero > zeros; stat -c %s zeros
      tar cf a.tar zeros; tar xf a.tar; truncate -s 1M big; cp --reflink=auto big big2; sync; timeout 5 true
      diff <(echo same) <(echo same); nice -n 1 true; mktemp -d > /dev/null; touch -d 2020-01-01 zero; df . > /dev/null`);
    expectToWork(["bash", "-c", lines], "1000 999 998 through\n4096\n");
  });

  it("suffices for Python: threads, fork, spawn, shared memory, asyncio, sockets", ({ skip }) => {
    if (!has("python3")) return skip("needs python3");
    writeFileSync(
      join(workspace, "parallel.py"),
      `
import asyncio, multiprocessing, os, socket, subprocess, tempfile, threading
from multiprocessing import shared_memory

async def child():
    process = await asyncio.create_subprocess_exec("true")
    return await process.wait()
${PARALLEL_FUNCTIONS}
if __name__ == "__main__":
    threads = [threading.Thread(target=square, args=(i,)) for i in range(8)]
    [t.start() for t in threads], [t.join() for t in threads]
    for method in ("fork", "spawn", "forkserver"):
        with multiprocessing.get_context(method).Pool(2) as pool:
            print(method, pool.map(square, range(4)))
    block = shared_memory.SharedMemory(create=True, size=64)
    block.close(), block.unlink()
    with multiprocessing.Manager() as manager:
        print(manager.dict(a=1)["a"])
    print(subprocess.check_output(["echo", "child"]), asyncio.run(child()), asyncio.run(echo()))
    print(socket.socketpair()[0].family.name, os.memfd_create("x") > 0, os.pidfd_open(os.getpid()) > 0)
    try:
        socket.if_nameindex()
    except PermissionError:
        print("no netlink")
`,
    );
    const squares = ["fork", "spawn", "forkserver"].map((method) => `${method} [0, 1, 4, 9]\n`).join("");
    const rest = "1\nb'child\\n' 0 b'echo\\n'\nAF_UNIX True True\nno netlink\n";
    expectToWork(["python3", "parallel.py"], squares + rest);
  });

  it("suffices for numpy and pandas", ({ skip }) => {
    const installed = sandboxed(["python3", "-c", "import numpy, pandas"], undefined).status === 0;
    if (!installed) return skip("needs numpy and pandas for the system's python3");
    const code = `
import io, numpy, pandas
a = numpy.random.rand(400, 400)
print(numpy.allclose(numpy.linalg.inv(a) @ a, numpy.eye(400), atol=1e-6))
print(pandas.read_csv(io.StringIO("k,v\\na,1\\na,2")).groupby("k").v.sum().to_dict())`;
    expectToWork(["python3", "-c", code], "True\n{'a': 3}\n");
  });

  it("suffices for venv and pip", ({ skip }) => {
    const installed = sandboxed(["python3", "-c", "import venv, ensurepip"], undefined).status === 0;
    if (!installed) return skip("needs python3-venv");
    expectToWork(
      ["bash", "-c", script("python3 -m venv v; v/bin/pip list --format=freeze | grep -c ^pip=")],
      "1\n",
    );
  });

  it("suffices for Node: workers, children, sockets, file watching", ({ skip }) => {
    if (!has("node")) return skip("needs /usr/bin/node");
    const code = `${PARALLEL_NODE}
      forEachParallel("localhost").then(() => {
        try { require("os").networkInterfaces(); } catch (e) { console.log(e.code); }
      });`;
    expectToWork(["node", "-e", code], `${PARALLEL_NODE_OUTPUT}ERR_SYSTEM_ERROR\n`);
  });

  it("suffices for npm", ({ skip }) => {
    if (!has("npm")) return skip("needs /usr/bin/npm");
    const lines =
      script(`mkdir -p dep app; cd dep; npm init -y > /dev/null; npm pack --silent; cd ../app; npm init -y > /dev/null
      npm install --silent --offline --no-audit --no-fund ../dep/dep-1.0.0.tgz; ls node_modules; npm pkg set scripts.hi='echo hi'; npm run --silent hi`);
    expectToWork(["bash", "-c", lines], "dep-1.0.0.tgz\ndep\nhi\n");
  });

  it("suffices for git", ({ skip }) => {
    if (!has("git")) return skip("needs git");
    const lines = script(`
      git config --global user.name n; git config --global user.email e@example.com
      git -c init.defaultBranch=main init -q repo; cd repo; echo 1 > a; git add a; git commit -qm one
      git checkout -q -b side; echo 2 > b; git add b; git commit -qm two; git checkout -q main; git merge -q side
      git gc -q; git clone -q . ../clone; git -C ../clone log --format=%s; git stash -q || true; git status --short`);
    expectToWork(["bash", "-c", lines], "two\none\n");
  });

  it("suffices for gcc, make and running what they built", ({ skip }) => {
    if (!has("gcc") || !has("make")) return skip("needs gcc and make");
    const lines = script(`
      printf '#include <pthread.h>\\n#include <stdio.h>\\nvoid *f(void *p) { return p; }\\nint main(void) { pthread_t t; pthread_create(&t, 0, f, 0); pthread_join(t, 0); puts("built"); }\\n' > m.c
      printf 'm: m.c\\n\\tgcc -O2 -flto -pipe -pthread -o m m.c\\n' > Makefile; make -sj2; ./m`);
    expectToWork(["bash", "-c", lines], "built\n");
  });

  it("suffices for sqlite", ({ skip }) => {
    if (!has("sqlite3")) return skip("needs sqlite3");
    const sql =
      "pragma journal_mode=wal; create table t(a); insert into t values(1),(2); select sum(a) from t;";
    expectToWork(["sqlite3", "x.db", sql], "wal\n3\n");
  });
});

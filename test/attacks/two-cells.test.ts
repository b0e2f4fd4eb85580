import { PassThrough } from "node:stream";
import { beforeAll, expect } from "vitest";
import type { SandboxManager } from "../../src/index.js";
import type { RunningSandbox } from "../../src/manager.js";
import { openManager } from "../setup/open-manager.js";
import { requires } from "../setup/requires.js";
import { goOn } from "./background.js";
import { uniqueSleep } from "./host.js";

const { describe, it } = requires("linux", "bubblewrap", "python3");

let manager: SandboxManager;
let sandbox: RunningSandbox;

beforeAll(async () => {
  manager = openManager({ backend: "bubblewrap" });
  sandbox = await manager.startSandbox("cells", { cells: { workers: 2 } });
  await sandbox.prewarmCells();
});

const KEY = 0x5ce20000 + Math.floor(Math.random() * 0xffff);
const PORT = 20_000 + Math.floor(Math.random() * 9000);
const MARK = uniqueSleep();

/** Puts something everywhere that another program could find it, and stays until its input ends. */
const LEAVES = `
import ctypes, os, socket, sys
for place in ("/workspace", "/tmp", "/dev/shm", os.path.expanduser("~")):
    open(place + "/left-behind", "w").write("here")
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0left-behind"); abstract.listen()
tcp = socket.socket(); tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
tcp.bind(("127.0.0.1", ${PORT})); tcp.listen()
libc = ctypes.CDLL(None, use_errno=True)
libc.shmget(${KEY}, 4096, 0o1666)
libc.semget(${KEY}, 1, 0o1666)
if os.fork() == 0:
    os.setsid()
    os.execvp("sleep", ["sleep", "${MARK}"])
print("ready", flush=True)
sys.stdin.read()
print("left")
`;

/** Prints whatever it finds of that. */
const LOOKS = `
import ctypes, os, socket
for place in ("/workspace", "/tmp", "/dev/shm", os.path.expanduser("~")):
    if os.path.exists(place + "/left-behind"): print("file", place)
for name, address, family in (("abstract", "\\0left-behind", socket.AF_UNIX), ("tcp", ("127.0.0.1", ${PORT}), socket.AF_INET)):
    with socket.socket(family) as s:
        s.settimeout(2)
        try: s.connect(address); print(name)
        except OSError: pass
libc = ctypes.CDLL(None, use_errno=True)
for name, found in (("shm", libc.shmget(${KEY}, 0, 0)), ("sem", libc.semget(${KEY}, 0, 0))):
    if found >= 0: print(name)
for pid in filter(str.isdigit, os.listdir("/proc")):
    try:
        if b"${MARK}" in open("/proc/%s/cmdline" % pid, "rb").read(): print("process")
    except OSError: pass
for link in ("/proc/1/root", "/proc/1/cwd", "/proc/self/root"):
    try:
        if os.path.exists(link + "/tmp/left-behind"): print("file", link)
    except OSError: pass
`;

const FOUND = ["file /workspace", "file /tmp", "file /dev/shm", "abstract", "tcp", "shm", "sem", "process"];
const COLD = `#${"x".repeat(120 * 1024)}\n`;

/** What the second program finds while the first one runs, and after it. */
async function twoPrograms(leaves: string, looks: string, isolate: boolean) {
  const stdin = new PassThrough();
  const running = sandbox.runCode(leaves, {
    language: "python",
    isolate,
    stdin,
    timeoutMs: 20_000,
  });
  const first = await goOn(running);
  const look = async () => {
    const { stdout, stderr } = await sandbox.runCode(looks, { language: "python", isolate });
    expect(stderr).toBe("");
    return stdout.split("\n").filter((line) => line !== "" && !line.includes("/proc"));
  };
  const during = await look();
  stdin.end();
  expect(await first.output()).toBe("ready\nleft\n");
  return { during, after: await look() };
}

describe("two programs of one sandbox", () => {
  it("see each other where they have no cells, so that the next tests can fail", async () => {
    const { during, after } = await twoPrograms(LEAVES, LOOKS, false);
    expect(during).toEqual(expect.arrayContaining(FOUND));
    expect(after).toEqual(expect.arrayContaining(["file /workspace", "file /tmp", "shm"]));
    await sandbox.exec(["sh", "-c", "rm -f left-behind /tmp/left-behind /dev/shm/left-behind ~/left-behind"]);
  });

  it.each([
    ["by interpreters that fork", LEAVES, LOOKS],
    ["started the plain way", COLD + LEAVES, COLD + LOOKS],
    ["the first the plain way", COLD + LEAVES, LOOKS],
  ])("in cells, %s, see nothing of each other, not at once and not later", async (_, first, second) => {
    expect(await twoPrograms(first, second, true)).toEqual({ during: [], after: [] });
  });

  it("in cells do not see the session's files, nor leave any there", async () => {
    await sandbox.files.write("mine.txt", "secret");
    const code = "import os; print(os.listdir('.'), os.getcwd()); open('made.txt', 'w').write('x')";
    for (const program of [code, COLD + code]) {
      const { stdout } = await sandbox.runCode(program, { language: "python", isolate: true });
      expect(stdout).toBe("['main.py'] /workspace\n");
    }
    expect((await sandbox.files.list()).map(({ path }) => path)).toEqual(["mine.txt"]);
  });

  it("in cells leave no process, whatever they did to stay", async () => {
    const mark = uniqueSleep();
    const code = `
import os, signal
for _ in range(5):
    if os.fork() == 0:
        os.setsid()
        for number in range(1, 32):
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        if os.fork() == 0: os.execvp("sleep", ["sleep", "${mark}"])
        os.execvp("sleep", ["sleep", "${mark}"])`;
    for (const program of [code, COLD + code]) {
      await sandbox.runCode(program, { language: "python", isolate: true });
      const { stdout } = await sandbox.exec(["sh", "-c", "cat /proc/[0-9]*/cmdline | tr '\\0' ' '"]);
      expect(stdout).not.toContain(`sleep ${mark}`);
    }
  });
});

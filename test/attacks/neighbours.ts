import { execFileSync } from "node:child_process";
import { PassThrough } from "node:stream";
import type { Attack } from "./attack.js";
import { goOn } from "./background.js";
import { uniqueSleep } from "./host.js";

const group = "processes" as const;

/** Files that every sandbox can read, and the guest's; `shared()` gives those that there are. */
const SHARED = `
def shared():
    found = ["/usr", "/usr/bin", "/usr/bin/env", "/usr/lib", "/etc", "/etc/passwd", "/etc/hosts", "/bin", "/lib"]
    for top, folders, names in os.walk("/opt/skerry"):
        if not top.startswith("/opt/skerry/etc/ssl"): found += [top] + [top + "/" + name for name in names]
    if FACTS["ownDevices"]: found += ["/dev/" + name for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts")]
    return [*{(os.stat(path).st_dev, os.stat(path).st_ino): path for path in found if os.path.exists(path)}.values()]
`;

/** Against another sandbox that runs at the same time. */
export const neighbourAttacks: readonly Attack[] = [
  {
    name: "sees another sandbox that runs at the same time",
    group,
    about: "Files, processes, sockets, ports and shared memory of the other.",
    run: async (context) => {
      const { sandbox, prelude, facts } = context;
      const other = await context.newSandbox();
      const mark = uniqueSleep();
      const key = 0x5ce00000 + Math.floor(Math.random() * 0xffff);
      const [name, port] = [`neighbour-${facts.word.slice(0, 6)}`, 20_000 + Math.floor(Math.random() * 9000)];
      const server = `
name = "${name}"
for path in ("/tmp/" + name, "/dev/shm/" + name): open(path, "w").write("here")
abstract = socket.socket(socket.AF_UNIX); abstract.bind("\\0" + name); abstract.listen()
tcp = socket.socket(); tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1); tcp.bind(("127.0.0.1", ${port})); tcp.listen()
shm = libc.shmget(${key}, 4096, 0o1666)
if os.fork() == 0: os.execvp("sleep", ["sleep", "${mark}"])
print("ready", flush=True)
sys.stdin.read()
print("left")`;
      // Where nothing isolates, these are the host's.
      const clean = `
for path in ("/tmp/${name}", "/dev/shm/${name}"):
    if os.path.exists(path): os.unlink(path)
libc.shmctl(libc.shmget(${key}, 0, 0), 0, None)`;
      const stop = new AbortController();
      const stdin = new PassThrough();
      const running = other.exec(["python3", "-c", prelude(server)], {
        stdin,
        signal: stop.signal,
        timeoutMs: 20_000,
      });
      const neighbour = await goOn(running);
      const { stdout } = await context.python(
        sandbox,
        `
name = "${name}"
for path in ("/tmp/" + name, "/dev/shm/" + name):
    if os.path.exists(path): won(path)
for address, family in (("\\0" + name, socket.AF_UNIX), (("127.0.0.1", ${port}), socket.AF_INET)):
    with socket.socket(family) as s:
        s.settimeout(1)
        try: s.connect(address); won(address)
        except OSError: pass
if libc.shmget(${key}, 0, 0) >= 0: won("shm")
for pid in pids():
    if b"${mark}" in read("/proc/%d/cmdline" % pid): won("process")`,
      );
      stdin.end();
      if (!(await neighbour.output()).includes("left")) throw new Error("the neighbour ended too early");
      await context.python(other, clean);
      return { stdout };
    },
  },
  {
    name: "signals another sandbox by locking a file that both can read",
    group,
    about: "Whoever holds the lock says a bit, whatever the other's network and files are.",
    run: async (context) => {
      const other = await context.newSandbox();
      const stdin = new PassThrough();
      const holder = `
import fcntl
${SHARED}
held = []
for path in shared():
    fd = tried(os.open, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    if fd is None: continue
    try: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError: continue
    held.append(fd)
print("ready" if len(held) > 3 else "too few", flush=True)
sys.stdin.read()
print("left")`;
      const running = other.exec(["python3", "-c", context.prelude(holder)], { stdin, timeoutMs: 20_000 });
      const neighbour = await goOn(running);
      const { stdout } = await context.python(
        context.sandbox,
        `
import fcntl
${SHARED}
for path in shared():
    fd = tried(os.open, path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    if fd is None: continue
    try: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError: won(path)
    os.close(fd)`,
      );
      stdin.end();
      if ((await neighbour.output()) !== "ready\nleft\n") throw new Error("the neighbour held no locks");
      return { stdout };
    },
  },
  {
    name: "watches what the host and another sandbox open",
    group,
    about: "With inotify on what all of them read: which programs are started, and when.",
    run: async (context) => {
      const stdin = new PassThrough();
      const watcher = `
${SHARED}
fd = libc.inotify_init1(os.O_NONBLOCK)
names = {libc.inotify_add_watch(fd, path.encode(), 0x39): path for path in shared()}
while tried(os.read, fd, 1 << 16): pass
print("ready", len(names), flush=True)
sys.stdin.read()
seen = tried(os.read, fd, 1 << 16) or b""
while seen:
    watch, mask, _, length = struct.unpack_from("iIII", seen)
    won(names.get(watch), hex(mask), seen[16:16 + length].strip(b"\\0"))
    seen = seen[16 + length:]
print("left")`;
      // Of its own, in which no interpreter is being warmed meanwhile.
      const own = await context.newSandbox();
      const running = own.exec(["python3", "-c", context.prelude(watcher)], {
        stdin,
        timeoutMs: 30_000,
      });
      const watching = await goOn(running);
      const other = await context.newSandbox();
      const opens =
        "cat /etc/passwd < /dev/null > /dev/null; env true; ls /usr/bin /opt/skerry/* > /dev/null; true";
      await other.exec(["bash", "-c", opens]);
      execFileSync("/usr/bin/env", ["true"], { stdio: "ignore" });
      stdin.end();
      const stdout = await watching.output();
      if (!/^ready \d+\n(.*\n)*left\n$/.test(stdout)) throw new Error(`nothing was watched: ${stdout}`);
      return { stdout };
    },
  },
  {
    name: "uses up the processes of another sandbox",
    group,
    about: "Where the limit counts per user, one sandbox's children would count for all of that user.",
    needs: "pidsLimit",
    run: async (context) => {
      const greedy = await context.newSandbox({ pids: 64 });
      const other = await context.newSandbox({ pids: 64 });
      const code = `
import threading
try:
    while True:
        if os.fork() == 0: time.sleep(30); os._exit(0)
except OSError: pass
print("full", flush=True); time.sleep(30)`;
      const stop = new AbortController();
      const bomb = greedy.exec(["python3", "-c", context.prelude(code)], {
        signal: stop.signal,
      });
      const full = await goOn(bomb);
      const answer = await other
        .exec(["bash", "-c", "(echo a; true | true); echo forked"], { timeoutMs: 5000 })
        .then(
          ({ stdout, stderr }) => stdout + stderr,
          (error) => String((error as { code?: string }).code),
        );
      stop.abort();
      if (!(await full.output()).includes("full")) throw new Error("there was no bomb");
      return { stdout: "", observed: { answer } };
    },
    succeeded: ({ observed }) => !String(observed?.answer).includes("forked"),
    simulated: { stdout: "", observed: { answer: "bash: fork: Resource temporarily unavailable" } },
  },
];

import { PassThrough } from "node:stream";
import type { Attack } from "./attack.js";
import { goOn } from "./background.js";
import { uniqueSleep } from "./host.js";

const group = "processes" as const;

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

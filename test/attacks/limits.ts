import { setTimeout as delay } from "node:timers/promises";
import type { Attack } from "./attack.js";
import { findProcesses, uniqueSleep } from "./host.js";
import { survives, unwell } from "./survival.js";

const group = "resources" as const;
const LIMITS = { memoryMb: 64, pids: 64, openFiles: 256, workspaceMb: 32, workspaceInodes: 2000, tmpMb: 16 };

/** Writes this much in pieces; `won()` when all of it is there. */
function fills(name: string, directory: string, megabytes: number, needs?: Attack["needs"]): Attack {
  return {
    name,
    group,
    fresh: true,
    limits: LIMITS,
    ...(needs !== undefined && { needs }),
    code: `
path = "${directory}/fill-" + WORD
done = 0
try:
    with open(path, "wb", 0) as file:
        while done < ${megabytes}: file.write(b"x" * 1048576); done += 1
        os.fsync(file.fileno())
    won(done)
except OSError as error: print(error, done)
tried(os.unlink, path)`,
  };
}

/** More processes, memory, disk or open files than a sandbox may have. */
export const limitAttacks: readonly Attack[] = [
  {
    name: "has more processes than its limit",
    group,
    fresh: true,
    limits: LIMITS,
    needs: "pidsLimit",
    code: `
children = []
try:
    for _ in range(${LIMITS.pids * 2}):
        pid = os.fork()
        if pid == 0: time.sleep(20); os._exit(0)
        children.append(pid)
    won(len(children))
except OSError: print(len(children))
for pid in children: os.kill(pid, 9)`,
  },
  {
    name: "has more threads than its limit",
    group,
    fresh: true,
    limits: LIMITS,
    needs: "pidsLimit",
    code: `
import threading
threading.stack_size(65536)
wait = threading.Event()
try:
    for _ in range(${LIMITS.pids * 2}): threading.Thread(target=wait.wait, daemon=True).start()
    won()
except RuntimeError: pass
os._exit(0)`,
  },
  {
    name: "drops a fork bomb",
    group,
    fresh: true,
    limits: LIMITS,
    needs: "pidsLimit",
    run: (context) =>
      survives(context, (sandbox) => sandbox.exec(":(){ :|:& };: ; sleep 5", { timeoutMs: 1500 })),
    succeeded: unwell,
    simulated: { stdout: "", observed: { answer: "next", maxLagMs: 9000, spawnMs: 1, grewMb: 1 } },
  },
  {
    name: "drops a fork bomb that leaves at once",
    group,
    fresh: true,
    limits: LIMITS,
    needs: "pidsLimit",
    run: async (context) => {
      const mark = uniqueSleep();
      const outcome = await survives(context, (sandbox) =>
        context.python(
          sandbox,
          `
if os.fork() == 0:
    os.setsid()
    while True:
        try:
            if os.fork() == 0: os.setsid()
        except OSError: os.execvp("sleep", ["sleep", "${mark}"])`,
          8000,
        ),
      );
      await delay(100);
      return { ...outcome, observed: { ...outcome.observed, left: findProcesses(mark).length } };
    },
    succeeded: (outcome) => unwell(outcome) || outcome.observed?.left !== 0,
    simulated: { stdout: "", observed: { answer: "next", maxLagMs: 1, spawnMs: 1, grewMb: 1, left: 60 } },
  },
  {
    name: "uses more memory than its limit",
    group,
    fresh: true,
    limits: LIMITS,
    needs: "memoryLimit",
    code: `
held = [b"x" * 1048576 for _ in range(${LIMITS.memoryMb * 2})]
won(len(held))`,
  },
  {
    name: "uses memory until the host has none",
    group,
    fresh: true,
    limits: LIMITS,
    needs: "memoryLimit",
    run: (context) =>
      survives(context, (sandbox) =>
        context.python(sandbox, "held = []\nwhile True: held.append(b'x' * 1048576)"),
      ),
    succeeded: (outcome) =>
      unwell(outcome) || !["memory", "SANDBOX_LOST"].includes(outcome.reason ?? "exited"),
    simulated: {
      stdout: "",
      reason: "signaled",
      observed: { answer: "next", maxLagMs: 1, spawnMs: 1, grewMb: 1 },
    },
  },
  {
    name: "hides memory in shared memory, pipes and memory files",
    group,
    about: "What is not a process's own must count too.",
    fresh: true,
    limits: LIMITS,
    needs: "memoryLimit",
    code: `
held, total = [], 0
fd = os.memfd_create("x")
for _ in range(${LIMITS.memoryMb}): total += os.write(fd, b"x" * 1048576)
libc.shmat.restype = ctypes.c_void_p
identity = libc.shmget(0, ${LIMITS.memoryMb} << 20, 0o1600)
address = libc.shmat(identity, None, 0)
libc.shmctl(identity, 0, None)
ctypes.memset(address, 1, ${LIMITS.memoryMb} << 20)
total += ${LIMITS.memoryMb} << 20
won(total)`,
  },
  {
    name: "hides memory in the buffers of its own connections",
    group,
    about: "Sockets' buffers are the kernel's; unread ones must count too.",
    timeoutMs: 25_000,
    fresh: true,
    limits: LIMITS,
    needs: "memoryLimit",
    code: `
held, taken = [], 0
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(400)
for _ in range(${Math.floor(LIMITS.openFiles / 2) - 20}):
    client = socket.socket(); client.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
    client.settimeout(1); held.append(client)
    try:
        client.connect(server.getsockname()); held.append(server.accept()[0]); client.setblocking(False)
        while True: taken += client.send(b"x" * 65536)
    except OSError: pass
if taken >> 20 > ${LIMITS.memoryMb} * 2: won(taken >> 20)`,
  },
  {
    name: "fills the kernel's memory with empty files in /tmp",
    group,
    fresh: true,
    limits: LIMITS,
    needs: "memoryLimit",
    about: "tmpfs counts bytes, not files: each empty one still takes a kilobyte of the kernel's.",
    run: (context) =>
      survives(context, (sandbox) =>
        context.python(
          sandbox,
          `
count = 0
try:
    for directory in ("/tmp", "/dev/shm"):
        for number in range(${LIMITS.memoryMb * 1024}):
            os.close(os.open("%s/%d" % (directory, number), os.O_CREAT | os.O_WRONLY)); count += 1
    won(count)
except OSError as error: print(count, error)`,
          20_000,
        ),
      ),
    succeeded: (outcome, { marker }) => unwell(outcome) || outcome.stdout.includes(marker),
    simulated: { stdout: "", observed: { answer: "", maxLagMs: 1, spawnMs: 1, grewMb: 1 } },
  },
  fills("fills the workspace in bytes", ".", LIMITS.workspaceMb * 2, "workspaceLimit"),
  fills("fills /tmp in bytes", "/tmp", LIMITS.tmpMb * 2),
  fills("fills /dev/shm in bytes", "/dev/shm", LIMITS.tmpMb * 2),
  {
    name: "fills the workspace in files",
    group,
    fresh: true,
    limits: LIMITS,
    needs: "workspaceLimit",
    // Without walls they are files on a disk that others use too.
    timeoutMs: 30_000,
    code: `
count = 0
os.mkdir("many")
try:
    for number in range(${LIMITS.workspaceInodes * 2}):
        os.close(os.open("many/%d" % number, os.O_CREAT | os.O_WRONLY)); count += 1
    won(count)
except OSError as error: print(count, error)`,
  },
  {
    name: "writes a file that is larger than its disk",
    group,
    about: "fallocate reserves blocks at once.",
    fresh: true,
    limits: LIMITS,
    needs: "workspaceLimit",
    code: `
fd = os.open("reserved", os.O_CREAT | os.O_WRONLY)
try: os.posix_fallocate(fd, 0, ${LIMITS.workspaceMb * 2} << 20); won()
except OSError as error: print(error)`,
  },
  {
    name: "writes anywhere but its workspace and its temporary directories",
    group,
    about: "The root and /dev are file systems in memory: unless read-only they could be filled.",
    code: `
for directory in ("/", "/dev", "/dev/pts", "/opt", "/etc", "/usr", "/var", "/run", "/home", "/root", "/srv", "/proc", "/mnt"):
    path = directory.rstrip("/") + "/fill-" + WORD
    if opens(path, os.O_CREAT | os.O_WRONLY): won(path); tried(os.unlink, path)
    try: os.mkdir(path + "d"); won(path); os.rmdir(path + "d")
    except OSError: pass`,
  },
  {
    name: "has more open files than its limit",
    group,
    fresh: true,
    limits: LIMITS,
    needs: "openFilesLimit",
    code: `
import resource
held, hard = [], resource.getrlimit(resource.RLIMIT_NOFILE)[1]
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    for _ in range(${LIMITS.openFiles * 2}): held.append(os.open("/dev/null", os.O_RDONLY))
    won(len(held))
except (OSError, ValueError): print(len(held))`,
  },
  {
    name: "opens a million files",
    group,
    fresh: true,
    limits: { openFiles: 256 },
    needs: "openFilesLimit",
    run: (context) =>
      survives(context, (sandbox) =>
        context.python(
          sandbox,
          `
import resource
for limit in (1000000, resource.getrlimit(resource.RLIMIT_NOFILE)[1]):
    try: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit)); break
    except (OSError, ValueError): pass
count = 0
try:
    while count < 1000000: os.dup(0); count += 1
    won(count)
except OSError: print(count)
if count > 1000: won(count)`,
          20_000,
        ),
      ),
    succeeded: (outcome, { marker }) =>
      unwell({ ...outcome, observed: { ...outcome.observed, grewMb: 0 } }) || outcome.stdout.includes(marker),
  },
];

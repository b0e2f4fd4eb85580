import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ExecutionResult, Sandbox } from "../../src/index.js";
import type { Attack, Context, Outcome } from "./attack.js";
import { findProcesses, watchHost } from "./host.js";

const group = "resources" as const;
const MEBIBYTE = 1024 * 1024;
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

/** Ran to its end, or was ended for it; the sandbox, or a new one, and the host go on. */
async function survives(
  context: Context,
  start: (sandbox: Sandbox) => PromiseLike<ExecutionResult>,
): Promise<Outcome> {
  const watch = watchHost();
  const result = await Promise.resolve(start(context.sandbox)).then(
    ({ reason, stdout }) => ({ reason, stdout: stdout.slice(0, 200) }),
    (error) => ({ reason: String(error.code), stdout: "" }),
  );
  const spawned = Date.now();
  spawnSync("true");
  const spawnMs = Date.now() - spawned;
  const next = context.sandbox.isRunning ? context.sandbox : await context.newSandbox();
  const answer = await next.exec(["echo", "next"], { timeoutMs: 5000 }).then(
    ({ stdout }) => stdout.trim(),
    // A sandbox that died of it is fine when a new one works.
    async () => (await (await context.newSandbox()).exec(["echo", "next"])).stdout.trim(),
  );
  return { ...result, observed: { ...watch.stop(), spawnMs, answer } };
}

const unwell = ({ observed }: Outcome) =>
  observed?.answer !== "next" ||
  Number(observed.maxLagMs) > 2000 ||
  Number(observed.spawnMs) > 2000 ||
  Number(observed.grewMb) > 150;

export const resourceAttacks: readonly Attack[] = [
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
      survives(context, (sandbox) => sandbox.shell(":(){ :|:& };: ; sleep 5", { timeoutMs: 1500 })),
    succeeded: unwell,
    simulated: { stdout: "", observed: { answer: "next", maxLagMs: 5000, spawnMs: 1, grewMb: 1 } },
  },
  {
    name: "drops a fork bomb that leaves at once",
    group,
    fresh: true,
    limits: LIMITS,
    needs: "pidsLimit",
    run: async (context) => {
      const mark = `1000.${Math.random().toString().slice(2, 14)}`;
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
    succeeded: (outcome) => unwell(outcome) || outcome.reason !== "memory",
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
  {
    name: "prints for ever",
    group,
    run: (context) => survives(context, (sandbox) => sandbox.exec(["yes"], { timeoutMs: 10_000 })),
    succeeded: (outcome) => unwell(outcome) || outcome.reason !== "output-limit",
    simulated: {
      stdout: "",
      reason: "output-limit",
      observed: { answer: "next", maxLagMs: 1, spawnMs: 1, grewMb: 900 },
    },
  },
  {
    name: "prints for ever to a caller that streams",
    group,
    run: (context) =>
      survives(context, async (sandbox) => {
        const running = sandbox.exec(["yes"], { stream: true, timeoutMs: 2000 });
        for await (const event of running) if (event.type === "exit") return event.result;
        return running;
      }),
    succeeded: (outcome) => unwell(outcome) || outcome.reason !== "timeout",
    simulated: {
      stdout: "",
      reason: "timeout",
      observed: { answer: "next", maxLagMs: 1, spawnMs: 1, grewMb: 900 },
    },
  },
  {
    name: "prints a gigabyte without a newline",
    group,
    run: (context) =>
      survives(context, (sandbox) =>
        sandbox.exec(["head", "-c", "1000000000", "/dev/zero"], { timeoutMs: 10_000 }),
      ),
    succeeded: (outcome) => unwell(outcome) || outcome.reason !== "output-limit",
    simulated: {
      stdout: "",
      reason: "exited",
      observed: { answer: "next", maxLagMs: 1, spawnMs: 1, grewMb: 1 },
    },
  },
  {
    name: "prints while nobody reads",
    group,
    about: "A caller that streams and does not iterate holds the program back.",
    run: (context) =>
      survives(context, async (sandbox) => {
        const running = sandbox.exec(["sh", "-c", "yes & yes >&2"], { stream: true, timeoutMs: 2500 });
        const iterator = running[Symbol.asyncIterator]();
        await iterator.next();
        await delay(1500);
        for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
          if (next.value.type === "exit") return next.value.result;
        }
        return running;
      }),
    succeeded: (outcome) => unwell(outcome) || outcome.reason !== "timeout",
    simulated: {
      stdout: "",
      reason: "timeout",
      observed: { answer: "next", maxLagMs: 1, spawnMs: 1, grewMb: 900 },
    },
  },
  {
    name: "goes on after it closed its output",
    group,
    run: async ({ sandbox, python }) => {
      const startedAt = Date.now();
      const { reason } = await python(sandbox, "os.closerange(0, 100)\nwhile True: time.sleep(1)", 500);
      return { stdout: "", reason, observed: { tookMs: Date.now() - startedAt } };
    },
    succeeded: ({ reason, observed }) => reason !== "timeout" || Number(observed?.tookMs) > 4000,
    simulated: { stdout: "", reason: "exited", observed: { tookMs: 10 } },
  },
  {
    name: "keeps the host busy with a workspace full of files",
    group,
    fresh: true,
    run: (context) =>
      survives(context, async (sandbox) => {
        await context.python(
          sandbox,
          `
for directory in range(20):
    os.mkdir("d%d" % directory)
    for number in range(2000): os.close(os.open("d%d/%d" % (directory, number), os.O_CREAT | os.O_WRONLY))`,
          20_000,
        );
        await sandbox.files.list(".", { recursive: true });
        return context.python(sandbox, "pass");
      }),
    succeeded: unwell,
    simulated: { stdout: "", observed: { answer: "next", maxLagMs: 9000, spawnMs: 1, grewMb: 1 } },
  },
  {
    name: "makes 10,000 nested directories",
    group,
    fresh: true,
    run: async (context) => {
      const before = readdirSync(join(context.facts.stateDir, "ephemeral"));
      const deep = await context.newSandbox();
      const made = readdirSync(join(context.facts.stateDir, "ephemeral")).filter(
        (name) => !before.includes(name),
      );
      const outcome = await survives(context, async () => {
        const result = await context.python(
          deep,
          `
os.mkdir("deep"); os.chdir("deep")
for _ in range(10000): os.mkdir("d"); os.chdir("d")
won("made")`,
          // On a disk that others use too, every directory takes its time, and again when it is removed.
          60_000,
        );
        await deep.files.list(".", { recursive: true });
        // It may refuse, but it must come to an end.
        await deep.files.remove("deep", { recursive: true }).catch(() => undefined);
        await deep.stop();
        return result;
      });
      const left = made.filter((name) => existsSync(join(context.facts.stateDir, "ephemeral", name)));
      return { ...outcome, observed: { ...outcome.observed, made: made.length, left: left.length } };
    },
    succeeded: (outcome, { marker }) =>
      unwell(outcome) ||
      outcome.observed?.made !== 1 ||
      outcome.observed.left !== 0 ||
      !outcome.stdout.includes(marker),
    simulated: {
      stdout: "",
      observed: { answer: "next", made: 1, left: 1, maxLagMs: 1, spawnMs: 1, grewMb: 1 },
    },
  },
  {
    name: "has a sparse file of 8 EiB downloaded",
    group,
    fresh: true,
    run: (context) =>
      survives(context, async (sandbox) => {
        const result = await context.python(
          sandbox,
          `
for size in (2**63 - 1, 2**62, 2**60, 2**44 - 4096, 2**43, 2**40, 2**36):
    fd = os.open("huge", os.O_CREAT | os.O_WRONLY)
    try: os.ftruncate(fd, size)
    except OSError: continue
    finally: os.close(fd)
    print(size); break`,
        );
        const download = await sandbox.files.read("huge").then(
          (content) => `read ${content.length}`,
          (error) => String(error.code),
        );
        const streamed = await drain(sandbox, "huge", 200 * MEBIBYTE);
        return {
          ...result,
          stdout: `${download} ${streamed}`,
          reason: download === "FILE_TOO_LARGE" ? "exited" : "memory",
        };
      }),
    succeeded: (outcome) =>
      unwell(outcome) || !/^FILE_TOO_LARGE (FILE_TOO_LARGE|[0-9]{1,8})$/.test(outcome.stdout),
    simulated: {
      stdout: "read 9223372036854775807 1",
      observed: { answer: "next", maxLagMs: 1, spawnMs: 1, grewMb: 1 },
    },
  },
];

/** How many bytes a stream gives before it ends, fails or has given too many. */
async function drain(sandbox: Sandbox, path: string, enough: number): Promise<string> {
  let bytes = 0;
  try {
    for await (const chunk of await sandbox.files.readStream(path)) {
      bytes += (chunk as Buffer).length;
      if (bytes > enough) break;
    }
    return String(bytes);
  } catch (error) {
    return String((error as { code?: string }).code);
  }
}

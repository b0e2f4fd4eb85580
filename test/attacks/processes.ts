import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import type { Sandbox } from "../../src/index.js";
import type { Attack, Context, Outcome } from "./attack.js";
import { countThreads, findProcesses } from "./host.js";

const group = "processes" as const;

/** One call that must not reach the kernel's own code; the arguments are wrong or harmless. */
function refused(name: string, expression: string, about?: string): Attack {
  return { name, group, code: `if ${expression}: won()`, ...(about !== undefined && { about }) };
}

/** Stops a new process between its fork and its exec; calls `caught(pid)` for each that still is the guest's copy. */
const AMBUSH = `
def ambush(seconds, caught):
    end = time.time() + seconds
    print("ready", flush=True)
    while time.time() < end:
        base = int(read("/proc/loadavg").split()[4]) + 1
        for _ in range(300):
            for pid in (base, base + 1):
                try: os.kill(pid, signal.SIGSTOP)
                except OSError: continue
                if read("/proc/%d/comm" % pid).strip() == b"skerry-guest" and caught(pid): return True
                tried(os.kill, pid, signal.SIGCONT)
                base = pid + 1
    return False
`;

/** Starts a command in the background; resolves when it has printed something. */
async function startInBackground(context: Context, sandbox: Sandbox, code: string, timeoutMs: number) {
  const events = sandbox
    .exec(["python3", "-c", context.prelude(code)], { stream: true, timeoutMs })
    [Symbol.asyncIterator]();
  let [stdout, ended] = ["", false];
  const advance = async () => {
    const { value, done } = await events.next();
    if (value?.type === "stdout") stdout += value.data.toString();
    ended = done === true || value.type === "exit";
  };
  while (stdout === "" && !ended) await advance();
  const rest = (async () => {
    while (!ended) await advance();
  })().catch(() => undefined);
  return { output: () => rest.then(() => stdout) };
}

const OWN_SETTINGS =
  "A kernel of its own may let everybody set that among its own processes: then no thread of the host may have it.";

/** Runs a program that sets something, then prints, and stays a while; looks how many threads of the host have it. */
function setAndLook(
  code: string,
  file: string,
  isLike: (text: string) => boolean,
): (context: Context) => Promise<Outcome> {
  return async (context) => {
    const program = await startInBackground(context, context.sandbox, code, 10_000);
    const observed = { threads: countThreads(file, isLike) };
    return { stdout: await program.output(), observed };
  };
}

function hasSet(stdout: string, observed: Outcome["observed"], marker: string, ownKernel: boolean): boolean {
  return stdout.includes(marker) && (!ownKernel || observed?.threads !== 0);
}

/** A command line that nothing else on this host has. */
function uniqueSleep(): string {
  return `1000.${Math.random().toString().slice(2, 14)}`;
}

/** Programs that start `sleep MARK` and want it to outlive them. */
const FUGITIVES: Readonly<Record<string, string>> = {
  "a double-forked grandchild in a session of its own": `
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: flee()
    os._exit(0)
os.wait()`,
  "a child made with CLONE_PARENT": `
SIGCHLD, CLONE_PARENT = 17, 0x8000
result, error = syscall("clone", CLONE_PARENT | SIGCHLD, 0, 0, 0, 0)
if result == 0: os.setsid(); flee()`,
  "a grandchild after it stopped being a subreaper": `
libc.prctl(36, 0, 0, 0, 0)
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: libc.prctl(1, 0, 0, 0, 0); flee()
    os._exit(0)
os.wait()`,
  "a child in the place of the process that keeps its memory": `
CLONE_WAIT = 0x40000000
def children(): return [int(pid) for pid in read("/proc/self/task/%d/children" % os.getpid()).split()]
for keeper in children():
    try: os.kill(keeper, signal.SIGKILL); os.waitpid(keeper, CLONE_WAIT)
    except OSError: continue
    for _ in range(40000):
        child = os.fork()
        if child == 0:
            if os.getpid() != keeper: os._exit(0)
            os.setsid()
            if os.fork() == 0: flee()
            signal.pause()
        if child == keeper: break
        os.waitpid(child, 0)`,
  "a child that ignores every signal it can": `
if os.fork() == 0:
    for number in range(1, 65):
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    os.setsid(); flee()`,
  "a child that closed its output": `
if os.fork() == 0:
    os.setsid(); os.closerange(0, 64); flee()`,
  "a child that is stopped": `
if os.fork() == 0:
    os.setsid(); time.sleep(0.02) or os.kill(os.getpid(), signal.SIGSTOP); flee()
time.sleep(0.01)`,
  "a chain that keeps forking itself anew": `
if os.fork() == 0:
    os.setsid()
    end = time.time() + 30
    while time.time() < end:
        if os.fork() != 0: os._exit(0)
        os.setsid()
    flee()`,
  "threads and a child of a thread": `
import threading
def work():
    if os.fork() == 0: os.setsid(); flee()
thread = threading.Thread(target=work); thread.start(); thread.join()`,
};

function fugitive(how: string, code: string, after: "exit" | "timeout"): Attack {
  return {
    name: `keeps ${how} alive after ${after === "exit" ? "its end" : "a timeout"}`,
    group,
    run: async (context) => {
      const mark = uniqueSleep();
      const flee = `
def flee():
    os.execvp("sleep", ["sleep", "${mark}"])
`;
      const linger = after === "exit" ? "time.sleep(0.05)" : "time.sleep(60)";
      const result = await context.python(
        context.sandbox,
        `${flee}${code}\n${linger}`,
        after === "exit" ? 10_000 : 300,
      );
      const inside = await context.sandbox.exec(["ps", "-eo", "args"]).then(
        ({ stdout }) => stdout,
        () => "",
      );
      return {
        stdout: "",
        reason: result.reason,
        observed: { inside: inside.includes(mark), outside: findProcesses(mark).length },
      };
    },
    succeeded: ({ observed }) => observed?.inside === true || observed?.outside !== 0,
    simulated: { stdout: "", observed: { inside: false, outside: 1 } },
  };
}

/** Machine code for x86-64: open("won", O_CREAT, 0600), then exit; before it, enough of nothing to land on. */
const WRITE_FILE = "31f6488d3d18000000be40000000ba80010000b8020000000f05b83c0000000f05776f6e00";

/** A program that writes code over the library of the process that shares its memory. */
const HIJACK = `
libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
for line in open("/proc/self/maps"):
    if "memory-keeper" in line and " r-xp " in line:
        start, end = (int(part, 16) for part in line.split()[0].split("-"))
        code = bytes.fromhex("${WRITE_FILE}")
        if libc.mprotect(start, end - start, 7) == 0:
            ctypes.memmove(start, b"\\x90" * (end - start - len(code)) + code, end - start)
            print("overwritten")
`;

const hijackKeeper: Attack = {
  name: "makes the process that keeps its memory run its code",
  group,
  about: "It shares the program's memory; a filter leaves it read and exit.",
  run: async (context) => {
    const { sandbox } = context;
    await sandbox.prewarm("python");
    const { stdout } = await context.python(sandbox, HIJACK);
    // Whatever it does, it does when the program has ended: a second program gives it the time.
    const after = await context.python(sandbox, "time.sleep(0.1); print('alive')");
    const files = await sandbox.exec(["ls"]);
    return { stdout: "", observed: { stdout, after: after.stdout, won: files.stdout.includes("won") } };
  },
  succeeded: ({ observed }) => observed?.won === true || observed?.after !== "alive\n",
  simulated: { stdout: "", observed: { won: true } },
};

/** Runs a program, then sees whether the sandbox still works or is cleanly gone, and whether the host is well. */
async function andThen(context: Context, code: string): Promise<Outcome> {
  const bystander = spawn("sleep", [uniqueSleep()], { stdio: "ignore" });
  context.onCleanUp(() => bystander.kill("SIGKILL"));
  const result = await context.python(context.sandbox, code, 3000).then(
    ({ reason, stdout }): { reason: string; stdout: string } => ({ reason, stdout }),
    (error) => ({ reason: String(error.code), stdout: "" }),
  );
  await delay(50);
  const answer = await context.sandbox.exec(["echo", "still here"], { timeoutMs: 3000 }).then(
    ({ stdout }) => stdout.trim(),
    (error) => String((error as { code?: string }).code),
  );
  return {
    stdout: result.stdout,
    reason: result.reason,
    observed: {
      usable: answer === "still here",
      gone: !context.sandbox.isRunning,
      hostIsWell: bystander.exitCode === null && bystander.signalCode === null,
      answer,
    },
  };
}

const harmed = ({ observed }: Outcome) =>
  observed?.hostIsWell !== true || (observed.usable !== true && observed.gone !== true);
const harm: Outcome = { stdout: "", observed: { usable: false, gone: false, hostIsWell: true } };

export const processAttacks: readonly Attack[] = [
  {
    name: "sees a process of the host",
    group,
    code: `
for pid in pids():
    if FACTS["decoyMark"].encode() in read("/proc/%d/cmdline" % pid): won(pid)
if ISOLATED and len(pids()) > 20: won("sees", len(pids()))`,
  },
  {
    name: "kills a process of the host",
    group,
    run: async (context) => {
      const victim = spawn("sleep", [uniqueSleep()], { stdio: "ignore" });
      context.onCleanUp(() => victim.kill("SIGKILL"));
      const code = `
for number in (9, 15, 1, 19):
    tried(os.kill, ${victim.pid}, number); tried(os.killpg, ${victim.pid}, number)
fd = syscall("pidfd_open", ${victim.pid}, 0)[0]
if fd >= 0: tried(signal.pidfd_send_signal, fd, 9)`;
      await context.python(context.sandbox, code);
      await delay(30);
      return { stdout: "", observed: { dead: victim.exitCode !== null || victim.signalCode !== null } };
    },
    succeeded: ({ observed }) => observed?.dead === true,
  },
  {
    name: "attaches to the guest with ptrace",
    group,
    code: `
for request in (16, 0x4206):
    result, error = syscall("ptrace", request, guest(), 0, 0)
    if result == 0:
        won(request); os.waitpid(guest(), 0x40000000) if request == 16 else None
        syscall("ptrace", 17, guest(), 0, 0)
        break`,
  },
  {
    name: "reads or writes the guest's memory",
    group,
    about:
      "A kernel of its own may show everybody where a process's memory is; what is in it stays out of reach.",
    code: `
pid = guest()
local = ctypes.create_string_buffer(16)
for address in [int(line.split(b"-")[0], 16) for line in read("/proc/%d/maps" % pid).splitlines()[:1]] or [0x400000]:
    iov = struct.pack("QQ", ctypes.addressof(local), 16)
    remote = struct.pack("QQ", address, 16)
    if syscall("process_vm_readv", pid, iov, 1, remote, 1, 0)[0] > 0: won("process_vm_readv")
for name, flags in (("mem", os.O_RDONLY), ("mem", os.O_RDWR), ("maps", os.O_RDONLY), ("environ", os.O_RDONLY), ("syscall", os.O_RDONLY)):
    path = "/proc/%d/%s" % (pid, name)
    if OWN_KERNEL and (name == "maps" or name == "environ" and not read(path)): continue
    if opens(path, flags): won(name)`,
  },
  {
    name: "takes the guest's descriptors, which are the wire",
    group,
    about:
      "A kernel of its own may list them for everybody: then none may be opened but the other ends of the program's own pipes.",
    code: `
pid = guest()
own = [os.fstat(fd).st_ino for fd in range(3)]
for fd in range(8):
    path = "/proc/%d/fd/%d" % (pid, fd)
    mine = OWN_KERNEL and getattr(tried(os.stat, path), "st_ino", None) in own
    for flags in (os.O_WRONLY, os.O_RDONLY):
        if opens(path, flags) and not mine: won("opened", fd)
    if not OWN_KERNEL and tried(os.readlink, path): won("saw", fd)
handle = syscall("pidfd_open", pid, 0)[0]
if handle >= 0 and syscall("pidfd_getfd", handle, 1, 0)[0] >= 0: won("pidfd_getfd")
if syscall("kcmp", os.getpid(), pid, 2, 0, 0)[0] >= 0: won("kcmp")`,
  },
  ...["python", "javascript", "typescript"].map(
    (language): Attack => ({
      name: `takes over the warm interpreter of ${language} through its memory`,
      group,
      about:
        "It outlives every command: code in it runs on after the end of its program, and speaks for later ones. " +
        "A kernel of its own may list its descriptors for everybody: then the one that it is told by must not open.",
      setUp: ({ sandbox }) => sandbox.prewarm(language),
      code: `
warm = zygotes() if "${language}" == "python" else [pid for pid in pids() if b"node-runner" in read("/proc/%d/cmdline" % pid) and (b"typescript" in read("/proc/%d/cmdline" % pid)) == ("${language}" == "typescript")]
if not warm: raise SystemError("there is no warm interpreter to attack")
for pid in warm:
    for line in read("/proc/%d/maps" % pid).decode().splitlines():
        if "rw-p" not in line: continue
        address = int(line.split("-")[0], 16)
        try: fd = os.open("/proc/%d/mem" % pid, os.O_RDWR)
        except OSError: break
        if os.pwrite(fd, os.pread(fd, 8, address), address) == 8: won(pid); break
    if OWN_KERNEL:
        if any(opens("/proc/%d/fd/3" % pid, flags) for flags in (os.O_RDONLY, os.O_WRONLY, os.O_RDWR)): won("control of", pid)
    elif tried(os.readlink, "/proc/%d/fd/3" % pid): won("descriptors of", pid)`,
    }),
  ),
  {
    name: "steals the wire from a command that is just starting",
    group,
    about:
      "Between fork and exec a new command still has the guest's descriptors; stopped there, it could be taken over.",
    fresh: true,
    run: async (context) => {
      const { sandbox } = context;
      const code = `${AMBUSH}
def caught(pid):
    link = tried(os.readlink, "/proc/%d/fd/1" % pid) or ""
    if link.startswith("socket:") and opens("/proc/%d/mem" % pid, os.O_RDWR): won(pid, link); return True
ambush(2, caught)`;
      const thief = await startInBackground(context, sandbox, code, 8000);
      const until = Date.now() + 2000;
      while (Date.now() < until) {
        const ended = Promise.resolve(sandbox.exec(["true"], { timeoutMs: 3000 })).catch(() => undefined);
        await Promise.race([ended, delay(2000)]);
      }
      await sandbox.stop();
      return { stdout: await thief.output() };
    },
    cannotSelfCheck: "a race: even without walls it is rarely won",
  },
  {
    name: "stops the warm interpreter so that the next program never ends",
    group,
    run: async (context) => {
      // Not a throw-away one: those keep no interpreter.
      const sandbox = await context.manager.getSandbox("a session to be stopped");
      await sandbox.prewarm("python");
      const code = `
if not zygotes(): raise SystemError("there is no warm interpreter to attack")
for pid in zygotes(): os.kill(pid, signal.SIGSTOP); print("stopped", flush=True)
time.sleep(60)`;
      await startInBackground(context, sandbox, code, 60_000);
      const startedAt = Date.now();
      const ended = sandbox.runCode({ language: "python", code: "print(1)", timeoutMs: 500 }).then(
        () => true,
        () => true,
      );
      const returned = await Promise.race([ended, delay(9000, false)]);
      await sandbox.stop();
      return { stdout: "", observed: { returned, tookMs: Date.now() - startedAt } };
    },
    succeeded: ({ observed }) => observed?.returned !== true,
    simulated: { stdout: "", observed: { returned: false } },
  },
  {
    name: "stops a command that is just starting so that the guest waits for ever",
    group,
    fresh: true,
    run: async (context) => {
      const { sandbox } = context;
      const code = `${AMBUSH}
if ambush(3, lambda pid: True): time.sleep(60)`;
      await startInBackground(context, sandbox, code, 60_000);
      const until = Date.now() + 3000;
      let returned = true;
      while (Date.now() < until && returned && sandbox.isRunning) {
        const ended = sandbox.exec(["true"], { timeoutMs: 500 }).then(
          () => true,
          () => true,
        );
        returned = await Promise.race([ended, delay(9000, false)]);
      }
      await sandbox.stop();
      return { stdout: "", observed: { returned } };
    },
    succeeded: ({ observed }) => observed?.returned !== true,
    simulated: { stdout: "", observed: { returned: false } },
  },
  {
    name: "kills and stops the warm interpreter and what it forks",
    group,
    run: async (context) => {
      const sandbox = await context.manager.getSandbox("a session to be killed");
      await sandbox.prewarm("python");
      return andThen(
        { ...context, sandbox },
        `
for number in (signal.SIGSTOP, signal.SIGKILL):
    for pid in pids():
        if pid not in (1, os.getpid()) : tried(os.kill, pid, number)`,
      );
    },
    succeeded: harmed,
    simulated: harm,
  },
  {
    name: "kills everything with kill -9 -1",
    group,
    fresh: true,
    run: (context) =>
      andThen(
        context,
        `
os.kill(-1, 9); time.sleep(0.1); os.kill(-1, 19); os.kill(-1, 9)`,
      ),
    succeeded: harmed,
    simulated: harm,
  },
  {
    name: "sends every signal to the first process",
    group,
    fresh: true,
    run: (context) =>
      andThen(
        context,
        `
for number in range(1, 65):
    tried(os.kill, 1, number)
for number in (19, 9): tried(os.kill, 1, number)`,
      ),
    succeeded: harmed,
    simulated: harm,
  },
  {
    name: "makes a namespace with unshare",
    group,
    code: `
for name, flag in (("user", 0x10000000), ("mount", 0x20000), ("uts", 0x4000000), ("ipc", 0x8000000), ("net", 0x40000000), ("pid", 0x20000000), ("cgroup", 0x2000000), ("time", 0x80), ("user and mount", 0x10020000)):
    pid = os.fork()
    if pid == 0:
        if syscall("unshare", flag)[0] == 0: won(name)
        os._exit(0)
    os.waitpid(pid, 0)`,
  },
  {
    name: "makes a namespace with clone or clone3",
    group,
    code: `
for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x30020000):
    result, error = syscall("clone", flag | 17, 0, 0, 0, 0)
    if result == 0: os._exit(0)
    if result > 0: won("clone", hex(flag)); os.waitpid(result, 0)
    arguments = struct.pack("8Q", flag, 0, 0, 0, 17, 0, 0, 0)
    result, error = syscall("clone3", arguments, len(arguments))
    if result == 0: os._exit(0)
    if result > 0: won("clone3", hex(flag)); os.waitpid(result, 0)`,
  },
  {
    name: "enters a namespace with setns",
    group,
    code: `
for pid in (1, os.getpid(), guest()):
    for name in ("user", "mnt", "uts", "ipc", "net", "pid", "cgroup"):
        fd = tried(os.open, "/proc/%d/ns/%s" % (pid, name), os.O_RDONLY)
        if fd is None: continue
        child = os.fork()
        if child == 0:
            if syscall("setns", fd, 0)[0] == 0: won(pid, name)
            os._exit(0)
        os.waitpid(child, 0); os.close(fd)
fd = syscall("pidfd_open", guest(), 0)[0]
if fd >= 0 and syscall("setns", fd, 0x20000)[0] == 0: won("pidfd")`,
  },
  refused(
    "sets up an io_uring",
    `reached("io_uring_setup", 4, b"\\0" * 120)`,
    "Its rings carry out calls that no filter sees.",
  ),
  refused("loads a BPF program", `reached("bpf", 0, struct.pack("IIII", 1, 4, 4, 1) + b"\\0" * 112, 128)`),
  refused(
    "uses the kernel's keyrings",
    `reached("add_key", b"user", b"skerry-attack", b"x", 1, -3) or reached("keyctl", 0, -3, 0) or reached("request_key", b"user", b"x", None, 0)`,
  ),
  refused("opens a userfaultfd", `reached("userfaultfd", 0) or reached("userfaultfd", 1)`),
  refused(
    "opens performance counters",
    `reached("perf_event_open", struct.pack("IIQ", 1, 112, 0) + b"\\0" * 96, 0, -1, -1, 0)`,
  ),
  refused("compares processes with kcmp", `reached("kcmp", os.getpid(), os.getpid(), 1, 0, 0)`),
  refused("advises on another process's memory", `reached("process_madvise", -1, None, 0, 0, 0)`),
  refused("watches file systems with fanotify", `reached("fanotify_init", 0, 0)`),
  refused(
    "loads a kernel or a module",
    `reached("kexec_load", 0, 0, None, 0xffff) or reached("finit_module", -1, b"", 0) or reached("init_module", None, 0, b"") or reached("delete_module", b"skerry-no-such-module", 0o4000) or (not ISOLATED and lacks("modules"))`,
  ),
  refused(
    "restarts the machine",
    `reached("reboot", 1, 2, 3, None)`,
    "With wrong magic numbers: EINVAL would mean that it was allowed.",
  ),
  refused(
    "sets the clock",
    `reached("clock_settime", 0, None) or reached("settimeofday", struct.pack("qq", -1, -1), None)`,
  ),
  refused(
    "reads the kernel's log",
    `reached("syslog", 10, None, 0) or reached("syslog", 3, ctypes.create_string_buffer(64), 64)`,
  ),
  refused(
    "adds swap or accounting",
    `reached("swapon", b"/skerry-no-such-file", 0) or reached("acct", b"/skerry-no-such-file")`,
  ),
  refused("renames the host", `reached("sethostname", None, 4)`),
  {
    name: "enters the kernel through the 32-bit door",
    group,
    about: "A filter that does not check the architecture reads other numbers there.",
    code: `
import mmap
if platform.machine() != "x86_64": lacks("x86"); sys.exit()
pid = os.fork()
if pid == 0:
    page = mmap.mmap(-1, 4096, prot=7)
    page.write(b"\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3")
    call = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))
    if call() == os.getpid(): won("int 0x80")
    os._exit(0)
status = os.waitpid(pid, 0)[1]
if not ISOLATED and status != 0: lacks("32-bit programs")`,
  },
  {
    name: "enters the kernel through the x32 door",
    group,
    code: `
if platform.machine() != "x86_64": lacks("x86"); sys.exit()
result, error = syscall(0x40000000 | NR["getpid"])
if result == os.getpid(): won()
elif not ISOLATED: lacks("x32")`,
  },
  {
    name: "finds a descriptor that the host left open",
    group,
    about: "The runner holds secret files on descriptors 3 and 40, both without close-on-exec.",
    run: async ({ sandbox, python, prelude }) => {
      const code = `
for name in os.listdir("/proc/self/fd"):
    link = tried(os.readlink, "/proc/self/fd/" + name) or ""
    if WORD in link or FACTS["repo"] in link: won(name, link)
    if int(name) > 2 and WORD.encode() in (tried(os.pread, int(name), 4096, 0) or b""): won(name)
    if int(name) > 2 and link.startswith("socket:"): won(name, link)`;
      const warm = await python(sandbox, code);
      const cold = await sandbox.exec(["python3", "-c", prelude(code)]);
      return { stdout: warm.stdout + cold.stdout };
    },
    cannotSelfCheck: "the guest closes them for its commands even where there are no walls",
  },
  {
    name: "attaches to the host's SysV shared memory",
    group,
    code: `
identity = libc.shmget(FACTS["shmKey"], 0, 0)
libc.shmat.restype = ctypes.c_void_p
address = libc.shmat(identity, None, 0o10000) if identity >= 0 else None
if address not in (None, 2**64 - 1): won(ctypes.string_at(address, 8))
if len(read("/proc/sysvipc/shm").splitlines()) > 1: won("listed")`,
  },
  {
    name: "reads the host's POSIX shared memory",
    group,
    code: `if WORD.encode() in read(FACTS["sharedMemoryFile"]): won()`,
  },
  {
    name: "types into its terminal with TIOCSTI",
    group,
    about: "Also with high bits set, which the kernel drops and a careless filter compares.",
    run: async ({ sandbox, prelude }) => {
      const code = `
for request in (0x5412, 0x100005412, 0xffffffff00005412):
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(16 if platform.machine() == "x86_64" else 29), ctypes.c_long(0), ctypes.c_ulong(request), b"x") == 0: won(hex(request))
    elif not ISOLATED and ctypes.get_errno() == errno.EIO: lacks("TIOCSTI")`;
      const terminal = await sandbox.terminal({
        rows: 24,
        columns: 80,
        argv: ["python3", "-c", prelude(code)],
      });
      let stdout = "";
      terminal.output.on("data", (chunk) => {
        stdout += chunk;
      });
      await terminal.exit;
      return { stdout };
    },
  },
  {
    name: "reaches the terminal of the host's process",
    group,
    code: `
if opens("/dev/console", os.O_WRONLY) or opens("/dev/tty0", os.O_WRONLY): won("console")
if ISOLATED and opens("/dev/tty", os.O_RDWR): won("controlling terminal")`,
  },
  {
    name: "gets ahead of the host's processes",
    group,
    about: `Real-time scheduling, priorities, locked memory. ${OWN_SETTINGS}`,
    run: setAndLook(
      `
has_disk = syscall("ioprio_set", 1, 0, 1 << 13)[0] == 0
outcomes, outcome = os.pipe()
for action in (lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(37)), lambda: os.setpriority(os.PRIO_PROCESS, 0, -13)):
    if os.fork() == 0:
        try: action(); os.write(outcome, b"!")
        except OSError: os.write(outcome, b".")
        time.sleep(1)
        os._exit(0)
has_scheduling = b"!" in os.read(outcomes, 1) + os.read(outcomes, 1)
if has_disk: won("real-time disk")
if has_scheduling: won("scheduling")
else: print("refused", flush=True)
time.sleep(1)`,
      "stat",
      (text) => {
        // The name in brackets is the program's own choice.
        const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
        return fields[16] === "-13" || fields[37] === "37";
      },
    ),
    succeeded: ({ stdout, observed }, { marker, facts }) =>
      stdout.includes(`${marker} real-time disk`) || hasSet(stdout, observed, marker, facts.ownKernel),
  },
  {
    name: "makes itself the last victim when memory is short",
    group,
    about: `With a score below zero the kernel would rather end the host's own processes. ${OWN_SETTINGS}`,
    run: setAndLook(
      `
try:
    fd = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    os.write(fd, b"-731")
    won()
    time.sleep(1)
except OSError:
    if not ISOLATED: lacks("the right to lower oom_score_adj")
    print("refused")`,
      "oom_score_adj",
      (text) => text.trim() === "-731",
    ),
    succeeded: ({ stdout, observed }, { marker, facts }) => hasSet(stdout, observed, marker, facts.ownKernel),
  },
  ...Object.entries(FUGITIVES).flatMap(([how, code]) => [
    fugitive(how, code, "exit"),
    fugitive(how, code, "timeout"),
  ]),
  hijackKeeper,
  {
    name: "ignores SIGTERM past its timeout",
    group,
    run: async ({ sandbox, python }) => {
      const startedAt = Date.now();
      const { reason } = await python(
        sandbox,
        `
signal.signal(signal.SIGTERM, signal.SIG_IGN); signal.signal(signal.SIGINT, signal.SIG_IGN)
while True: time.sleep(1)`,
        400,
      );
      return { stdout: "", reason, observed: { tookMs: Date.now() - startedAt } };
    },
    succeeded: ({ reason, observed }) => reason !== "timeout" || Number(observed?.tookMs) > 3000,
    simulated: { stdout: "", reason: "exited", observed: { tookMs: 60_000 } },
  },
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
sys.stdin.read()`;
      // Where nothing isolates, these are the host's.
      const clean = `
for path in ("/tmp/${name}", "/dev/shm/${name}"):
    if os.path.exists(path): os.unlink(path)
libc.shmctl(libc.shmget(${key}, 0, 0), 0, None)`;
      const stop = new AbortController();
      const stdin = new (await import("node:stream")).PassThrough();
      const running = other.exec(["python3", "-c", prelude(server)], {
        stream: true,
        stdin,
        signal: stop.signal,
        timeoutMs: 20_000,
      });
      for await (const event of running) {
        if (event.type === "exit") throw new Error(`the neighbour ended: ${event.result.error}`);
        if (event.type === "stdout") break;
      }
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
      await running.then(
        () => undefined,
        () => undefined,
      );
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
        stream: true,
        signal: stop.signal,
      });
      for await (const event of bomb) if (event.type === "stdout" || event.type === "exit") break;
      const answer = await other
        .exec(["bash", "-c", "(echo a; true | true); echo forked"], { timeoutMs: 5000 })
        .then(
          ({ stdout, stderr }) => stdout + stderr,
          (error) => String((error as { code?: string }).code),
        );
      stop.abort();
      await bomb.then(
        () => undefined,
        () => undefined,
      );
      return { stdout: "", observed: { answer } };
    },
    succeeded: ({ observed }) => !String(observed?.answer).includes("forked"),
    simulated: { stdout: "", observed: { answer: "bash: fork: Resource temporarily unavailable" } },
  },
];

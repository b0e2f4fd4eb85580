import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { Attack, Context, Outcome } from "./attack.js";
import { startInBackground } from "./background.js";
import { countThreads, uniqueSleep } from "./host.js";

const group = "processes" as const;

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

/** Against the host's own processes, and what they share. */
export const hostProcessAttacks: readonly Attack[] = [
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
      const ended = once(victim, "exit");
      const code = `
for number in (9, 15, 1, 19):
    tried(os.kill, ${victim.pid}, number); tried(os.killpg, ${victim.pid}, number)
fd = syscall("pidfd_open", ${victim.pid}, 0)[0]
if fd >= 0: tried(signal.pidfd_send_signal, fd, 9)`;
      await context.python(context.sandbox, code);
      await Promise.race([ended, delay(500)]);
      return { stdout: "", observed: { dead: victim.exitCode !== null || victim.signalCode !== null } };
    },
    succeeded: ({ observed }) => observed?.dead === true,
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
];

import { spawn } from "node:child_process";
import { setTimeout as delay } from "node:timers/promises";
import type { Attack, Context, Outcome } from "./attack.js";
import { startInBackground } from "./background.js";
import { uniqueSleep } from "./host.js";

const group = "processes" as const;

/** Stops a new process between its fork and its exec; calls `caught(pid)` for each that still is the guest's copy. */
const AMBUSH = `
def ambush(seconds, caught):
    end = time.time() + seconds
    print("ready", flush=True)
    while time.time() < end:
        # gVisor does not tell the last one.
        base = (int(read("/proc/loadavg").split()[4]) or max(pids())) + 1
        for _ in range(300):
            for pid in (base, base + 1):
                try: os.kill(pid, signal.SIGSTOP)
                except OSError: continue
                if read("/proc/%d/comm" % pid).strip() == b"skerry-guest" and caught(pid): return True
                tried(os.kill, pid, signal.SIGCONT)
                base = pid + 1
    return False
`;

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

/** Against what runs commands inside: the guest and its warm interpreters. */
export const guestAttacks: readonly Attack[] = [
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
      besideCells: true,
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
      const sandbox = await context.manager.startSandbox("a session to be stopped");
      await sandbox.prewarm("python");
      const code = `
if not zygotes(): raise SystemError("there is no warm interpreter to attack")
for pid in zygotes(): os.kill(pid, signal.SIGSTOP); print("stopped", flush=True)
time.sleep(60)`;
      await startInBackground(context, sandbox, code, 60_000);
      const startedAt = Date.now();
      const ended = sandbox.runCode("print(1)", { language: "python", timeoutMs: 500 }).then(
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
    name: "stops the first process so that nothing inside goes on",
    group,
    about: "Linux spares the first process of a namespace its own processes' signals; gVisor does not.",
    fresh: true,
    run: async (context) => {
      const { sandbox } = context;
      const code = `
print("ready", flush=True)
end = time.time() + 20
while time.time() < end: tried(os.kill, 1, signal.SIGSTOP)`;
      await startInBackground(context, sandbox, code, 30_000);
      const startedAt = Date.now();
      // It may end over it, as over any other signal, in a kernel that does not spare it.
      while (Date.now() < startedAt + 2000 && sandbox.isRunning)
        await sandbox.exec(["true"], { timeoutMs: 8000 }).catch(() => undefined);
      const tookMs = Date.now() - startedAt;
      await sandbox.stop();
      return { stdout: "", observed: { tookMs } };
    },
    succeeded: ({ observed }) => Number(observed?.tookMs) > 8000,
    simulated: { stdout: "", observed: { tookMs: 13_000 } },
  },
  {
    name: "kills and stops the warm interpreter and what it forks",
    group,
    run: async (context) => {
      const sandbox = await context.manager.startSandbox("a session to be killed");
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
  hijackKeeper,
];

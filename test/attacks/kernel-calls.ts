import type { Attack } from "./attack.js";

const group = "processes" as const;

/** One call that must not reach the kernel's own code; the arguments are wrong or harmless. */
function refused(name: string, expression: string, about?: string): Attack {
  return { name, group, code: `if ${expression}: won()`, ...(about !== undefined && { about }) };
}

/** Calls that a program has no need of, and ways past the filter that refuses them. */
export const kernelAttacks: readonly Attack[] = [
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
    name: "changes the limits, the priority or the CPUs of another process",
    group,
    about:
      "The guest and the session's other programs have the same uid: a small file size limit would truncate their files.",
    code: `
pid = os.fork()
if pid == 0:
    time.sleep(60); os._exit(0)
try:
    for target in (pid, guest()):
        if not ISOLATED and target != pid: continue
        if syscall("prlimit64", target, 1, struct.pack("QQ", 1 << 40, 1 << 40), None)[0] == 0: won("prlimit64", target)
        if tried(os.setpriority, os.PRIO_PROCESS, target, 5) is not None or os.getpriority(os.PRIO_PROCESS, target) == 5: won("setpriority", target)
        if syscall("ioprio_set", 1, target, 3 << 13)[0] == 0: won("ioprio_set", target)
        before = os.sched_getaffinity(target)
        tried(os.sched_setaffinity, target, {min(before)})
        if len(before) > 1 and os.sched_getaffinity(target) != before: won("sched_setaffinity", target)
finally:
    os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0)`,
  },
  {
    name: "has the kernel kill the first process when data arrives",
    group,
    about:
      "F_SETOWN and F_SETSIG name a process and a signal. gVisor, unlike Linux, spares its first process none. A sandbox that is gone is an error, which fails.",
    fresh: true,
    code: `
import fcntl
pid = guest()
if not ISOLATED:
    pid = os.fork()
    if pid == 0: time.sleep(20); os._exit(0)
def arm(owner):
    ours, theirs = socket.socketpair()
    if owner(ours) is None: return
    tried(fcntl.fcntl, ours, 10, signal.SIGKILL)
    tried(fcntl.fcntl, ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    theirs.send(b"x")
arm(lambda fd: tried(fcntl.fcntl, fd, fcntl.F_SETOWN, pid))
arm(lambda fd: tried(fcntl.fcntl, fd, 15, struct.pack("ii", 1, pid)))
for request in (0x8901, 0x8902): arm(lambda fd: tried(fcntl.ioctl, fd, request, struct.pack("i", pid)))
if not ISOLATED and os.waitpid(pid, 0)[1] == signal.SIGKILL: won("killed")
time.sleep(0.2)`,
  },
  {
    name: "attaches a filter to a socket",
    group,
    about: "Filters take memory that is charged to no group, out of a pool that the whole host shares.",
    code: `
program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0xffff))
filter = struct.pack("HxxxxxxQ", 1, ctypes.addressof(program))
for option in (26, 51):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as each:
        try: each.setsockopt(socket.SOL_SOCKET, option, filter)
        except OSError: continue
        won(option)`,
  },
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
];

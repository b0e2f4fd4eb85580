import type { Facts } from "./attack.js";

/** System calls that libc has no name for, by machine. */
const SYSCALLS = {
  x86_64: {
    getpid: 39,
    kcmp: 312,
    bpf: 321,
    userfaultfd: 323,
    perf_event_open: 298,
    io_uring_setup: 425,
    add_key: 248,
    request_key: 249,
    keyctl: 250,
    ptrace: 101,
    process_vm_readv: 310,
    process_vm_writev: 311,
    pidfd_open: 434,
    pidfd_getfd: 438,
    unshare: 272,
    setns: 308,
    clone: 56,
    clone3: 435,
    pivot_root: 155,
    open_tree: 428,
    fsopen: 430,
    fanotify_init: 300,
    kexec_load: 246,
    init_module: 175,
    finit_module: 313,
    delete_module: 176,
    reboot: 169,
    swapon: 167,
    settimeofday: 164,
    clock_settime: 227,
    acct: 163,
    syslog: 103,
    iopl: 172,
    open_by_handle_at: 304,
    name_to_handle_at: 303,
    sethostname: 170,
    quotactl: 179,
    process_madvise: 440,
    mount: 165,
    memfd_secret: 447,
    ioprio_set: 251,
    prlimit64: 302,
    renameat2: 316,
    migrate_pages: 256,
    lookup_dcookie: 212,
    add_watch: 254,
  },
  aarch64: {
    getpid: 172,
    kcmp: 272,
    bpf: 280,
    userfaultfd: 282,
    perf_event_open: 241,
    io_uring_setup: 425,
    add_key: 217,
    request_key: 218,
    keyctl: 219,
    ptrace: 117,
    process_vm_readv: 270,
    process_vm_writev: 271,
    pidfd_open: 434,
    pidfd_getfd: 438,
    unshare: 97,
    setns: 268,
    clone: 220,
    clone3: 435,
    pivot_root: 41,
    open_tree: 428,
    fsopen: 430,
    fanotify_init: 262,
    kexec_load: 104,
    init_module: 105,
    finit_module: 273,
    delete_module: 106,
    reboot: 142,
    swapon: 224,
    settimeofday: 170,
    clock_settime: 112,
    acct: 89,
    syslog: 116,
    iopl: -1,
    open_by_handle_at: 265,
    name_to_handle_at: 264,
    sethostname: 161,
    quotactl: 60,
    process_madvise: 440,
    mount: 40,
    memfd_secret: 447,
    ioprio_set: 30,
    prlimit64: 261,
    renameat2: 276,
    migrate_pages: 238,
    lookup_dcookie: 18,
    add_watch: 27,
  },
};

/** What every Python attack starts with. The words are put together inside, so that no search finds the program itself. */
export function prelude(marker: string, facts: Facts, isolated: boolean): string {
  const words = JSON.stringify(hideWord(facts));
  const half = Math.ceil(marker.length / 2);
  return `
import ctypes, errno, json, os, platform, signal, socket, stat, struct, sys, time
WORD = ${JSON.stringify(facts.word.slice(0, 8))} + ${JSON.stringify(facts.word.slice(8))}
FACTS = json.loads(${words}.replace("@WORD@", WORD))
ISOLATED = ${isolated ? "True" : "False"}
OWN_KERNEL = FACTS["ownKernel"]
NR = json.loads(${JSON.stringify(JSON.stringify(SYSCALLS))})[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def won(*what):
    print(${JSON.stringify(marker.slice(0, half))} + ${JSON.stringify(marker.slice(half))}, *what, flush=True)
def lacks(what):
    print("host-lacks:", what, flush=True)
def syscall(name, *args):
    """Returns (result, errno)."""
    ctypes.set_errno(0)
    known = [arg if isinstance(arg, (bytes, ctypes.Array, ctypes.Structure)) or arg is None else ctypes.c_long(arg) for arg in args]
    result = libc.syscall(ctypes.c_long(NR[name] if isinstance(name, str) else name), *known)
    return result, ctypes.get_errno()
def reached(name, *args):
    """True when the kernel itself looked at the arguments, which are wrong on purpose."""
    result, error = syscall(name, *args)
    return result >= 0 or error not in (errno.EPERM, errno.EACCES, errno.ENOSYS)
def tried(action, *args, **options):
    try:
        return action(*args, **options)
    except (OSError, ValueError):
        return None
def read(path, size=1 << 20):
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(fd, size)
    except OSError:
        return b""
    finally:
        os.close(fd)
def opens(path, flags):
    try:
        os.close(os.open(path, flags | os.O_NONBLOCK))
        return True
    except OSError:
        return False
def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]
def parent_of(pid):
    return int(read("/proc/%d/stat" % pid).rpartition(b")")[2].split()[1] or 0)
def guest():
    """The sandbox's first process; without walls, the guest that started us."""
    if ISOLATED: return 1
    pid = os.getpid()
    while pid > 1 and read("/proc/%d/comm" % pid).strip() != b"skerry-guest": pid = parent_of(pid)
    return pid
def zygotes():
    return [pid for pid in pids() if b"python-zygote" in read("/proc/%d/cmdline" % pid) and parent_of(pid) == guest()]
`;
}

function hideWord(facts: Facts): string {
  return JSON.stringify(facts).replaceAll(facts.word, "@WORD@");
}

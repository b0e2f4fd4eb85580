import type { SeccompCondition, SeccompProfile, SeccompRule } from "./profile-format.js";

// Written so that order never matters: entries for one call are disjoint. libseccomp, which Docker uses,
// does not keep order, and lets an entry without conditions swallow the others.

const ENOSYS = 38;
const AF = { UNIX: 1, INET: 2, INET6: 10 };
const SOCK = { STREAM: 1, DGRAM: 2 };
const IPPROTO = { DEFAULT: 0, TCP: 6, UDP: 17 };
/** CLONE_NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. NEWTIME exists only for clone3 and unshare. */
const CLONE_NEW_ANY = 0x7e020000;
/** Makes a sibling instead of a child: a way for a process to outlive its command unseen. */
const CLONE_PARENT = 0x8000;
const FILE_TYPE_MASK = 0xf000;
const FILE_TYPES = { UNSPECIFIED: 0, REGULAR: 0x8000, FIFO: 0x1000, SOCKET: 0xc000 };
/** PER_LINUX, PER_LINUX32, each also with UNAME26, and the query that changes nothing. */
const PERSONALITIES = [0, 8, 0x20000, 0x20008, 0xffffffff];
/** SO_ATTACH_FILTER, _BPF, _REUSEPORT_CBPF, _REUSEPORT_EBPF. */
const SOCKET_FILTERS = { FILTER: 26, BPF: 50, REUSEPORT_CBPF: 51, REUSEPORT_EBPF: 52 };
const SOL_SOCKET = 1;
/** What calls that take a process id read as "the caller". */
const ONESELF = 0;
const PRIO_PROCESS = 0;
const IOPRIO_WHO_PROCESS = 1;
const SCHEDULING_CALLS = ["sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler"];
export const IOCTL = { TIOCSTI: 0x5412, TIOCLINUX: 0x541c, TIOCSETD: 0x5423 };

/** What code in a sandbox may ask of the kernel: an allowlist, in the format Docker reads. */
export const PROFILE: SeccompProfile = {
  defaultAction: "SCMP_ACT_ERRNO",
  defaultErrnoRet: 1,
  archMap: [
    { architecture: "SCMP_ARCH_X86_64", subArchitectures: [] },
    { architecture: "SCMP_ARCH_AARCH64", subArchitectures: [] },
  ],
  syscalls: [
    allow(
      "Reading and writing open files",
      `read write readv writev pread64 pwrite64 preadv pwritev preadv2 pwritev2 lseek close close_range
       dup dup2 dup3 fcntl flock fsync fdatasync sync_file_range ftruncate fallocate fadvise64 readahead
       sendfile copy_file_range splice tee pipe pipe2`,
    ),
    allow(
      "Finding, opening and changing files",
      `open openat openat2 creat access faccessat faccessat2 stat lstat fstat newfstatat statx statfs fstatfs
       getdents getdents64 getcwd chdir fchdir readlink readlinkat truncate umask
       mkdir mkdirat rmdir rename renameat renameat2 link linkat symlink symlinkat unlink unlinkat
       chmod fchmod fchmodat chown fchown lchown fchownat utime utimes futimesat utimensat`,
    ),
    allow(
      "Extended attributes, which cp and tar copy",
      `getxattr lgetxattr fgetxattr listxattr llistxattr flistxattr
       setxattr lsetxattr fsetxattr removexattr lremovexattr fremovexattr`,
    ),
    allow(
      "Memory. No process_madvise, userfaultfd, memfd_secret, remap_file_pages or NUMA placement",
      `brk mmap munmap mremap mprotect madvise mincore msync mlock mlock2 mlockall munlock munlockall
       membarrier memfd_create pkey_alloc pkey_free pkey_mprotect`,
    ),
    allow(
      "Starting, ending and awaiting processes; clone is below",
      `fork vfork execve execveat exit exit_group wait4 waitid pidfd_open pidfd_send_signal
       set_tid_address set_robust_list get_robust_list rseq restart_syscall arch_prctl`,
    ),
    allow(
      "Futexes and scheduling",
      `futex futex_waitv sched_yield getcpu getpriority ioprio_get sched_getaffinity sched_getattr sched_getparam
       sched_getscheduler sched_get_priority_max sched_get_priority_min sched_rr_get_interval`,
    ),
    allow(
      "Signals",
      `kill tkill tgkill rt_sigaction rt_sigprocmask rt_sigpending rt_sigsuspend rt_sigtimedwait
       rt_sigqueueinfo rt_tgsigqueueinfo rt_sigreturn sigaltstack signalfd signalfd4 pause`,
    ),
    allow(
      "Identity: queries, and changes that the missing capabilities confine to one's own ids",
      `getpid getppid gettid getuid geteuid getgid getegid getresuid getresgid getgroups getpgid getpgrp
       getsid setpgid setsid setuid setgid setreuid setregid setresuid setresgid capget capset`,
    ),
    allow("Limits and usage", "getrlimit setrlimit getrusage times sysinfo uname"),
    allow(
      "Reading clocks, sleeping, timers. Nothing that sets a clock, adjtimex included",
      `time gettimeofday clock_gettime clock_getres clock_nanosleep nanosleep alarm getitimer setitimer
       timer_create timer_delete timer_getoverrun timer_gettime timer_settime
       timerfd_create timerfd_gettime timerfd_settime`,
    ),
    allow(
      "Waiting for events",
      `poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
       eventfd eventfd2 inotify_init inotify_init1 inotify_add_watch inotify_rm_watch`,
    ),
    allow(
      "Sockets, once made; making them is below",
      `bind listen accept accept4 connect shutdown getsockname getpeername getsockopt
       sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg`,
    ),
    allow(
      "SysV shared memory and semaphores of our own IPC namespace. No message queues: a favourite heap spray",
      "shmget shmat shmdt shmctl semget semop semctl semtimedop",
    ),
    allow("Randomness", "getrandom"),
    allow(
      "Giving up rights: every one of these only tightens",
      "prctl seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self",
    ),

    ...allowWhen("Processes and threads, but no namespaces and no siblings", "clone", [
      [{ index: 0, value: CLONE_NEW_ANY + CLONE_PARENT, valueTwo: 0, op: "SCMP_CMP_MASKED_EQ" }],
    ]),
    refuseAsMissing(
      "The flags are behind a pointer that a filter cannot follow: libc falls back to clone",
      "clone3",
    ),
    refuseAsMissing(
      "Rings carry out calls the filter never sees, and have had many holes: callers fall back to threads",
      "io_uring_setup io_uring_enter io_uring_register io_setup io_submit io_getevents io_pgetevents io_cancel io_destroy",
    ),

    ...allowWhen("Local sockets", "socket", [[low(0, AF.UNIX)]]),
    ...allowWhen("Local socket pairs; no other family has any", "socketpair", [[low(0, AF.UNIX)]]),
    ...allowWhen(
      "TCP and UDP: no raw sockets, no netlink or vsock, and no rarer protocol (SCTP, L2TP, MPTCP) that would load a module",
      "socket",
      [AF.INET, AF.INET6].flatMap((family) => [
        [low(0, family), socketType(SOCK.STREAM), low(2, IPPROTO.DEFAULT)],
        [low(0, family), socketType(SOCK.STREAM), low(2, IPPROTO.TCP)],
        [low(0, family), socketType(SOCK.DGRAM), low(2, IPPROTO.DEFAULT)],
        [low(0, family), socketType(SOCK.DGRAM), low(2, IPPROTO.UDP)],
      ]),
    ),

    ...allowWhen(
      "All but socket filters: their memory is charged to no group, and comes out of a pool of the whole host",
      "setsockopt",
      [
        ...lowExcept(1, [SOL_SOCKET]).map((level) => [level]),
        ...lowExcept(2, Object.values(SOCKET_FILTERS)).map((option) => [low(1, SOL_SOCKET), option]),
      ],
    ),

    ...SCHEDULING_CALLS.flatMap((name) =>
      allowWhen("The scheduling of the caller itself: the guest and other programs have its uid", name, [
        [low(0, ONESELF)],
      ]),
    ),
    ...allowWhen("The caller's own priority, not that of a group or a user", "setpriority", [
      [low(0, PRIO_PROCESS), low(1, ONESELF)],
    ]),
    ...allowWhen("The caller's own, as with setpriority", "ioprio_set", [
      [low(0, IOPRIO_WHO_PROCESS), low(1, ONESELF)],
    ]),
    ...allowWhen("The limits of any process are read, those of the caller itself are set", "prlimit64", [
      [{ index: 2, value: 0, op: "SCMP_CMP_EQ" }],
      [low(0, ONESELF)],
    ]),

    ...allowWhen(
      "Files, FIFOs and sockets, no device nodes",
      "mknod",
      Object.values(FILE_TYPES).map((type) => [masked(1, FILE_TYPE_MASK, type)]),
    ),
    ...allowWhen(
      "Files, FIFOs and sockets, no device nodes",
      "mknodat",
      Object.values(FILE_TYPES).map((type) => [masked(2, FILE_TYPE_MASK, type)]),
    ),
    ...allowWhen(
      "Personalities that weaken nothing: not ADDR_NO_RANDOMIZE, not READ_IMPLIES_EXEC",
      "personality",
      PERSONALITIES.map((personality) => [low(0, personality)]),
    ),
    ...allowExcept(
      "All but TIOCSTI and TIOCLINUX, which type into the caller's terminal, and TIOCSETD, which loads modules",
      "ioctl",
      1,
      Object.values(IOCTL),
    ),
  ],
};

/** Calls with whatever arguments. */
export function allow(comment: string, names: string): SeccompRule {
  return { names: words(names), action: "SCMP_ACT_ALLOW", comment };
}

/** One entry per alternative: conditions within an entry are joined by "and", entries by "or". */
export function allowWhen(comment: string, name: string, alternatives: SeccompCondition[][]): SeccompRule[] {
  return alternatives.map((args) => ({ names: [name], action: "SCMP_ACT_ALLOW", args, comment }));
}

/** A call with any value of one argument but these. */
export function allowExcept(
  comment: string,
  name: string,
  index: number,
  values: readonly number[],
): SeccompRule[] {
  return allowWhen(
    comment,
    name,
    lowExcept(index, values).map((condition) => [condition]),
  );
}

function refuseAsMissing(comment: string, names: string): SeccompRule {
  return { names: words(names), action: "SCMP_ACT_ERRNO", errnoRet: ENOSYS, comment };
}

/** The kernel reads an int from the low half: comparing all 64 bits lets high bits slip by (CVE-2019-10063). */
export function low(index: number, value: number): SeccompCondition {
  return masked(index, 0xffffffff, value);
}

/** The kind of socket, without SOCK_CLOEXEC and SOCK_NONBLOCK. */
function socketType(type: number): SeccompCondition {
  return masked(1, 0xf, type);
}

function masked(index: number, mask: number, value: number): SeccompCondition {
  return { index, value: mask, valueTwo: value, op: "SCMP_CMP_MASKED_EQ" };
}

/**
 * Conditions of which exactly one holds when the low half of an argument is none of `values`. There is no
 * "masked not equal", so the values are walked bit by bit: each side that leads to none of them is a condition.
 */
function lowExcept(
  index: number,
  values: readonly number[],
  bit = 31,
  mask = 0,
  prefix = 0,
): SeccompCondition[] {
  if (values.length === 0) return [masked(index, mask, prefix)];
  if (bit < 0) return [];
  const weight = 2 ** bit;
  return [1, 0].flatMap((side) => {
    const rest = values.filter((value) => Math.floor(value / weight) % 2 === side);
    return lowExcept(index, rest, bit - 1, mask + weight, prefix + side * weight);
  });
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

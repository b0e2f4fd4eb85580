import type { Attack } from "./attack.js";
import { OF_A_NETWORK, OF_A_PROCESS, VISIBLE } from "./proc-entries.js";

const group = "information" as const;

export const informationAttacks: readonly Attack[] = [
  {
    name: "finds the caller's name, home or code in any file of /proc",
    group,
    about: "The planted word is in the host's environment, user name, home directory and source path.",
    code: `
needle = WORD.encode()
def look(top, depth):
    try: names = os.listdir(top)
    except OSError: return
    for name in names:
        path = top + "/" + name
        if name in ("mem", "kcore", "kmsg", "pagemap", "clear_refs", "kpagecount", "kpageflags", "kpagecgroup", "fdinfo", "map_files", "smaps", "task", "root", "cwd", "tracing"): continue
        try: mode = os.lstat(path).st_mode
        except OSError: continue
        if stat.S_ISLNK(mode):
            if WORD in (tried(os.readlink, path) or ""): won(path)
        elif stat.S_ISDIR(mode):
            if depth > 0: look(path, depth - 1)
        elif needle in read(path, 1 << 18): won(path)
if ISOLATED: look("/proc", 3)
else:
    for pid in [*pids()]: look("/proc/%d" % pid, 0)`,
  },
  {
    name: "finds an entry of /proc that no list has and nothing hides",
    group,
    about: "Disks, locks, interrupts and counters tell about the host and other sessions: proc-entries.ts.",
    code: `
def is_hidden(path):
    """Empty, or not to be opened."""
    if os.path.islink(path): return False
    if os.path.isdir(path): return not tried(os.listdir, path)
    return read(path, 1) == b"" and not opens(path, os.O_WRONLY) or os.stat(path).st_rdev == os.makedev(1, 3)
def look(top, known):
    for name in os.listdir(top):
        if not name.isdigit() and name not in known and not is_hidden(top + "/" + name): won(top + "/" + name)
look("/proc", ${JSON.stringify(Object.keys(VISIBLE))})
for pid in ("self", "thread-self", "1"):
    look("/proc/" + pid, ${JSON.stringify(OF_A_PROCESS)})
    if os.path.isdir("/proc/" + pid + "/net"): look("/proc/" + pid + "/net", ${JSON.stringify(OF_A_NETWORK)})`,
  },
  {
    name: "learns where the host's files are from the mount table",
    group,
    code: `
for name in ("mountinfo", "mounts", "mountstats"):
    text = read("/proc/self/" + name).decode()
    for secret in (FACTS["repo"], FACTS["home"], "/root", "/home", "/work/"):
        if secret in text: won(name, secret)
if not ISOLATED: won("the host's own table")`,
    cannotSelfCheck: "the host's own table names none of its users' directories unless they are mounts",
  },
  {
    name: "learns the host's name or identity",
    group,
    code: `
for path in ("/etc/machine-id", "/var/lib/dbus/machine-id", "/proc/sys/kernel/random/boot_id", "/sys/class/dmi/id/product_uuid"):
    if os.path.exists(path) and read(path).strip(): won(path)
# A container has these; they must say nothing.
for path, neutral in (("/etc/hostname", b"skerry"), ("/etc/resolv.conf", b"nameserver 127.0.0.1"), ("/.dockerenv", b"")):
    if os.path.exists(path) and read(path).strip() not in (neutral, b""): won(path, read(path))
names = (socket.gethostname(), platform.node(), os.uname().nodename)
if FACTS["hostname"] in names: won(names)
if FACTS["hostname"] in read("/etc/hosts").decode().split(): won("/etc/hosts")`,
  },
  {
    name: "learns the host's users",
    group,
    code: `
import hashlib
# An image has users of its own; they are not the host's.
for path, digest in FACTS["aboutUsers"].items():
    if os.path.exists(path) and hashlib.sha256(read(path)).hexdigest() == digest: won(path)`,
  },
  {
    name: "learns its control group's path",
    group,
    about:
      "It would name the host's process and its place in the system. Podman gives no namespace under cgroup version 1: " +
      "there it is a random number in the group of all sandboxes.",
    code: `
import re
for pid in ("self", "1"):
    for line in read("/proc/%s/cgroup" % pid).decode().splitlines():
        if not re.fullmatch("/?|/skerry/libpod-[0-9a-f]{64}", line.split(":", 2)[2]): won(line)`,
    cannotSelfCheck: "a host's own process may well be in the root group",
  },
  {
    name: "sees how it was started",
    group,
    about:
      "Orders go over a pipe: neither the command line nor the environment of the first process says anything.",
    code: `
for pid in pids():
    line = read("/proc/%d/cmdline" % pid)
    if b"--ro-bind" in line or b"--bind" in line or b"bwrap" in line or FACTS["stateDir"].encode() in line: won(pid, line)
if read("/proc/1/environ"): won("environ")`,
  },
  {
    name: "sees hardware addresses, disks or the kernel's modules with addresses",
    group,
    code: `
if os.path.exists("/sys/class/net"): won("/sys/class/net")
for line in read("/proc/modules").decode().splitlines():
    if int(line.split()[5], 16) != 0: won("modules"); break
for path in ("/proc/iomem", "/proc/ioports", "/proc/vmallocinfo", "/proc/slabinfo", "/proc/timer_list", "/proc/sched_debug", "/proc/latency_stats"):
    if any(part.strip("0-") for line in read(path, 4000).decode().splitlines()[:20] for part in line.split()[:1] if set(part) <= set("0123456789abcdef-")): won(path)`,
  },
  {
    name: "is given a variable of the host",
    group,
    language: "bash",
    setUp: ({ facts }) => {
      process.env.SKERRY_ATTACK_LEAK = facts.word;
    },
    code: 'env | grep -q SKERRY_ && echo $MARKER; [ -n "$SKERRY_ATTACK_LEAK" ] && echo $MARKER; true',
    cannotSelfCheck: "every backend makes a new environment for a command, walls or not",
  },
];

import type { Attack } from "./attack.js";

const group = "files" as const;

export const fileAttacks: readonly Attack[] = [
  {
    name: "reads a host file by its path",
    group,
    code: `
for path in (FACTS["secretFile"], "/proc/self/root" + FACTS["secretFile"], "/proc/self/cwd/../../../../.." + FACTS["secretFile"]):
    if WORD.encode() in read(path): won(path)`,
  },
  {
    name: "reads /etc/shadow",
    group,
    code: `
for path in ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/sudoers"):
    if read(path): won(path)`,
  },
  {
    name: "reads keys in the caller's home directory",
    group,
    code: `
for name in (".ssh/id_ed25519", ".aws/credentials", ".bashrc"):
    if WORD.encode() in read(FACTS["home"] + "/" + name): won(name)
if os.path.isdir("/root") and tried(os.listdir, "/root"): won("/root")
if os.path.isdir("/home") and tried(os.listdir, "/home"): won("/home")`,
  },
  {
    name: "reads another session's file",
    group,
    setUp: async ({ manager, facts }) => {
      const other = await manager.startSandbox("the other session");
      await other.files.write("diary.txt", facts.word);
    },
    code: `
for top in (FACTS["stateDir"], "/workspace/..", "/var/lib/skerry", "/proc/1/root" + FACTS["stateDir"]):
    for directory, _, names in os.walk(top):
        for name in names:
            if name == "diary.txt" and WORD.encode() in read(directory + "/" + name): won(directory)`,
  },
  {
    name: "writes into another session's workspace",
    group,
    setUp: async ({ manager, facts }) => {
      const other = await manager.startSandbox("the other session");
      await other.files.write("diary.txt", facts.word);
    },
    code: `
for top in (FACTS["stateDir"], "/workspace/..", "/proc/1/root" + FACTS["stateDir"]):
    for directory, _, names in os.walk(top):
        if "diary.txt" in names and opens(directory + "/diary.txt", os.O_WRONLY): won(directory)`,
  },
  {
    name: "writes to /etc",
    group,
    code: `
path = "/etc/skerry-attack-" + WORD
if opens(path, os.O_WRONLY | os.O_CREAT): won(path); os.unlink(path)
for path in ("/etc/passwd", "/etc/hosts", "/etc/ld.so.cache"):
    if opens(path, os.O_WRONLY): won(path)`,
  },
  {
    name: "writes to the programs it shares with the host",
    group,
    code: `
path = "/usr/bin/skerry-attack-" + WORD
if opens(path, os.O_WRONLY | os.O_CREAT): won(path); os.unlink(path)
for path in ("/usr/bin/python3", "/usr/bin/bash", "/bin/sh", "/lib/x86_64-linux-gnu/libc.so.6"):
    if os.access(path, os.W_OK): won(path)`,
  },
  {
    name: "writes to the guest's program or its runners",
    group,
    about: "The next sandbox would start what this one wrote.",
    code: `
for directory in ("/opt/skerry", FACTS["repo"] + "/prebuilt/runners"):
    for name in ("skerry-guest", "python/zygote/python-zygote.py", "javascript/programs/node-runner.cjs", "etc/passwd"):
        if opens(directory + "/" + name, os.O_WRONLY): won(name)
    path = directory + "/" + WORD
    if opens(path, os.O_WRONLY | os.O_CREAT): won(path); os.unlink(path)
if opens("/proc/1/exe", os.O_WRONLY): won("/proc/1/exe")`,
  },
  {
    name: "writes to the caller's dotfiles",
    group,
    code: `
for name in (".bashrc", ".profile", ".ssh/authorized_keys"):
    if opens(FACTS["home"] + "/" + name, os.O_WRONLY | os.O_APPEND | os.O_CREAT): won(name)`,
  },
  {
    name: "reaches the host's root through /proc/PID/root and /proc/PID/cwd",
    group,
    code: `
for pid in pids():
    for way in ("root", "cwd"):
        for up in ("", "/..", "/../../../../../.."):
            if WORD.encode() in read("/proc/%d/%s%s%s" % (pid, way, up, FACTS["secretFile"])): won(pid, way)
if len(tried(os.listdir, "/proc/1/root") or []) > 0 and os.path.isdir("/proc/1/root" + FACTS["repo"]): won("listed")`,
  },
  {
    name: "finds a secret of the host in any /proc/PID/environ",
    group,
    code: `
for pid in pids():
    if WORD.encode() in read("/proc/%d/environ" % pid): won(pid)
if any(WORD in value for value in os.environ.values()): won("own")`,
  },
  {
    name: "makes a device node",
    group,
    code: `
for kind, major, minor in ((stat.S_IFBLK, 254, 0), (stat.S_IFBLK, 7, 0), (stat.S_IFCHR, 1, 1), (stat.S_IFCHR, 1, 3)):
    for directory in (".", "/tmp", "/dev/shm"):
        path = directory + "/node-" + WORD
        try: os.mknod(path, kind | 0o666, os.makedev(major, minor))
        except OSError: continue
        won(path, major, minor); os.unlink(path)`,
  },
  {
    name: "opens a sensitive device",
    group,
    code: `
for name in "mem kmem port kmsg vda sda nvme0n1 loop0 loop-control fuse kvm vsock vhost-vsock net/tun userfaultfd dm-0 mapper/control snapshot hpet rtc0 uinput dri/card0 snd/seq tty0 tty1 console vcs hwrng cpu_dma_latency btrfs-control autofs".split():
    if opens("/dev/" + name, os.O_RDONLY): won(name)`,
  },
  {
    name: "opens core_pattern or another kernel setting for writing",
    group,
    about: "A core_pattern that starts with | runs a program as root on the host.",
    code: `
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/fs/binfmt_misc/register", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/ns_last_pid", "/proc/sysrq-trigger", "/proc/irq/default_smp_affinity", "/proc/sys/net/ipv4/ip_forward"):
    if opens(path, os.O_WRONLY): won(path)`,
  },
  {
    name: "reads kernel settings that tell about the host",
    group,
    code: `
for path in ("/proc/sys/kernel/core_pattern", "/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/hostname", "/proc/keys", "/proc/cmdline", "/proc/kcore", "/proc/kmsg", "/proc/kpageflags"):
    if read(path): won(path)
if any(line.split()[0].strip(b"0") for line in read("/proc/kallsyms").splitlines()[:50]): won("kallsyms")`,
  },
  {
    name: "finds /sys",
    group,
    code: `
for path in ("/sys/kernel", "/sys/class/net", "/sys/block", "/sys/fs/cgroup", "/sys/firmware"):
    if os.path.exists(path): won(path)
if opens("/sys/power/state", os.O_WRONLY): won("writes")`,
  },
  {
    name: "opens a control group's files for writing",
    group,
    about: "release_agent runs a program as root on the host.",
    code: `
seen = 0
for directory, _, names in os.walk("/sys/fs/cgroup"):
    seen += 1
    if seen > 50: break
    for name in ("release_agent", "cgroup.procs", "memory.limit_in_bytes", "pids.max"):
        if name in names and opens(directory + "/" + name, os.O_WRONLY): won(directory, name)
for line in read("/proc/self/mounts").decode().splitlines():
    # A container's are mounted below what hides /sys: listed, and out of reach.
    if line.split()[2] in ("cgroup", "cgroup2") and os.path.exists(line.split()[1]): won(line)`,
  },
  {
    name: "links to a host file",
    group,
    code: `
for path in (FACTS["secretFile"], "/proc/1/root" + FACTS["secretFile"]):
    try: os.link(path, "stolen-" + WORD)
    except OSError: continue
    won(path); os.unlink("stolen-" + WORD)`,
  },
  {
    name: "connects to docker.sock or another socket in the file system",
    group,
    code: `
for path in FACTS["socketPaths"] + ["/run/docker.sock", "/var/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket", "/run/systemd/private", "/run/user/0/bus"]:
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(1)
        try: s.connect(path)
        except OSError: continue
        won(path)`,
  },
  {
    name: "sees the host's /tmp, /run or /var",
    group,
    code: `
for path in ("/tmp", "/var/tmp", "/run", "/var/log", "/var/lib", "/dev/shm", "/mnt", "/srv", "/media", "/old_root"):
    names = tried(os.listdir, path) or []
    if any("skerry-attack" in name or WORD in name for name in names): won(path)
if os.path.exists(FACTS["sharedMemoryFile"]): won("/dev/shm")`,
  },
  {
    name: "mounts a file system",
    group,
    code: `
os.makedirs("m", exist_ok=True)
for source, kind, flags in ((b"tmpfs", b"tmpfs", 0), (b"proc", b"proc", 0), (b"/usr", None, 4096), (b"sysfs", b"sysfs", 0), (b"cgroup2", b"cgroup2", 0), (b"/dev/loop0", b"ext4", 0)):
    if libc.mount(source, b"m", kind, ctypes.c_ulong(flags), None) == 0: won(source, kind); libc.umount2(b"m", 2)
os.rmdir("m")`,
  },
  {
    name: "mounts through the newer calls",
    group,
    code: `
fd, _ = syscall("fsopen", b"tmpfs", 0)
if fd >= 0: won("fsopen"); os.close(fd)
fd, _ = syscall("open_tree", -100, b"/", 1)
if fd >= 0: won("open_tree"); os.close(fd)`,
  },
  {
    name: "takes away what hides /proc/sys",
    group,
    code: `
for path in (b"/proc/sys", b"/proc/keys", b"/proc/kallsyms", b"/proc/cmdline", b"/dev", b"/"):
    if ISOLATED and libc.umount2(path, 2) == 0: won(path)`,
    cannotSelfCheck: "outside nothing is hidden, and unmounting / of the host is no test",
  },
  {
    name: "makes read-only mounts writable",
    group,
    code: `
for path in (b"/usr", b"/etc", b"/", b"/dev"):
    if ISOLATED and libc.mount(None, path, None, ctypes.c_ulong(32 | 4096), None) == 0: won(path)`,
    cannotSelfCheck: "remounting the host's / is no test",
  },
  {
    name: "changes its root directory",
    group,
    code: `
pid = os.fork()
if pid == 0:
    try: os.chroot("/usr")
    except OSError: os._exit(0)
    won("chroot"); os._exit(0)
os.waitpid(pid, 0)`,
  },
  {
    name: "opens a host file by its handle",
    group,
    about: "The shocker attack: handles pass every mount namespace.",
    code: `
handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + b"\\0" * 128)
mount = ctypes.create_string_buffer(8)
syscall("name_to_handle_at", -100, b"/usr", handle, mount, 0)
fd = os.open("/usr", os.O_RDONLY)
if struct.unpack("I", handle.raw[:4])[0] == 128: handle = ctypes.create_string_buffer(struct.pack("IiII", 8, 1, 2, 0))
result, error = syscall("open_by_handle_at", fd, handle, os.O_RDONLY)
if result >= 0: won("opened")
elif error not in (errno.EPERM, errno.ENOSYS, errno.EACCES): won("reached", error)`,
  },
  {
    name: "has a privilege it could use",
    group,
    about: "Capabilities, set-user-id programs and supplementary groups.",
    code: `
status = dict(line.split(":\\t", 1) for line in read("/proc/self/status").decode().splitlines() if ":\\t" in line)
for name in ("CapInh", "CapPrm", "CapEff", "CapBnd"):
    if int(status[name], 16) != 0: won(name, status[name])
# Not every kernel lists these; all answer.
for number in range(64):
    if libc.prctl(47, 1, number, 0, 0) == 1: won("CapAmb", number)
if libc.prctl(39, 0, 0, 0, 0) != 1: won("NoNewPrivs")
if status["Seccomp"].strip() != "2": won("no seccomp filter")
if 0 in (os.getuid(), os.geteuid(), os.getgid(), os.getegid()) or 0 in os.getgroups(): won("is root")
for change in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0])):
    try: change()
    except OSError: continue
    won("became root")`,
  },
];

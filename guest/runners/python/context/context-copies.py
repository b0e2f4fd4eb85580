"""Copies of the running interpreter, made by fork: one that rests and makes further ones, and those that go on.

A copy that rests ("frozen") takes jobs from the guest, as the zygote does: a job's descriptors become those of a new copy,
which goes on as the context. Memory is shared until one of them writes to it.
"""

PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_GET_NO_NEW_PRIVS = 39
RLIMIT_LOCKS, RLIMIT_RTTIME = 10, 15
TAG_BASE, TAG_COPY = 1 << 62, 1 << 22


class Cannot(Exception):
    """Why there can be no copy now."""


def refuse_threads():
    others = len(sys._current_frames()) - 1
    if others > 0:
        names = [thread.name for thread in MODULES["threading"].enumerate()][1:6] if "threading" in MODULES else []
        raise Cannot("%d thread%s of the code still run%s: %s" % (others, "s" * (others > 1), "s" * (others == 1), ", ".join(names)))


def fork_with_seeds():
    """Forks; the copy draws the same random numbers as the original would. (Python reseeds `random` in every child.)"""
    random = MODULES.get("random")
    state = random.getstate() if hasattr(random, "getstate") else None
    pid = os.fork()
    if pid == 0 and state is not None:
        random.setstate(state)
    return pid


def freeze(fd):
    """Makes a copy that rests. Returns its pid here; in a copy that goes on, its new wire."""
    refuse_threads()
    flush_output()
    libc()
    pid = fork_with_seeds()
    if pid > 0:
        return pid, None
    return 0, rest(socket.socket(fileno=fd))


def rest(orders):
    """Never runs code. Returns only in a copy that goes on."""
    settings = gc.isenabled(), signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGCHLD)
    gc.disable()  # nothing of the code's own may run in here
    os.setsid()
    prctl(PR_SET_DUMPABLE, 0)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    wire.close()
    close_saved()
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(null)
    jobs = set()

    def reap(*_):
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid in jobs:
                jobs.discard(pid)
                told = (pid, status, usage.ru_utime * 1e6, usage.ru_stime * 1e6, usage.ru_maxrss)
                orders.send(b"X%d %d %d %d %d" % told)

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, reap)
    orders.send(b"R")
    while True:
        try:
            job, ancillary, _, _ = orders.recvmsg(1 << 16, socket.CMSG_SPACE(16))
        except OSError:
            os._exit(0)
        if not job:
            os._exit(0)
        fds = descriptors(ancillary)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
        try:
            pid = fork_with_seeds() if len(fds) == 4 else -1
        except OSError:
            pid = -1
        if pid == 0:
            return go_on(orders, fds, *settings)
        if pid > 0:
            jobs.add(pid)
        else:
            orders.send(b"E")
        for fd in fds:
            os.close(fd)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])


def go_on(orders, fds, collects, on_interrupt, on_child):
    """In a copy of one that rests: becomes the context, with descriptors of its own."""
    signal.signal(signal.SIGINT, signal.SIG_DFL if on_interrupt is None else on_interrupt)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL if on_child is None else on_child)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
    os.setsid()
    tag_copy()
    prctl(PR_SET_DUMPABLE, 1)
    keep_to_itself()
    orders.send(b"P")
    orders.close()
    control = os.dup(fds[3])
    for target, fd in enumerate(fds[:3]):
        os.dup2(fd, target)
    for fd in fds:
        os.close(fd)
    save_output()
    if collects:
        gc.enable()
    Loop.current = None  # its file descriptors are shared with the other copies
    return Wire(control)


def tag_copy():
    """Marks this copy and all that it will start, below the tag of the original; see guest/src/stray.c.

    There is room for one level: what a copy of a copy leaves behind stays below it, and is no one's when it ends.
    """
    up, down = (resource.getrlimit(limit)[1] for limit in (RLIMIT_LOCKS, RLIMIT_RTTIME))
    try:
        if 0 < up - TAG_BASE == TAG_BASE - down:
            resource.setrlimit(RLIMIT_LOCKS, 2 * (up - TAG_COPY + os.getpid(),))
            resource.setrlimit(RLIMIT_RTTIME, 2 * (down - os.getpid() - 1,))
            return
        if up > 0 and down > 0:
            resource.setrlimit(RLIMIT_RTTIME, 2 * (down - 1,))
    except (OSError, ValueError):
        pass
    prctl(PR_SET_CHILD_SUBREAPER, 1)


def prctl(option, value):
    libc().prctl(option, value, 0, 0, 0)


def keep_to_itself():
    """A Landlock domain within the original's, so that one copy cannot end another; see keep_to_itself() in guest/src/exec.c."""
    if libc().prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1:
        return
    fd = libc().syscall(444, (0).to_bytes(16, "little") + (2).to_bytes(8, "little"), 24, 0)
    if fd >= 0:
        libc().syscall(446, fd, 0)
        os.close(fd)


def libc():
    global LIBC
    if LIBC is None:
        import ctypes

        LIBC = ctypes.CDLL(None)
    return LIBC


LIBC = None

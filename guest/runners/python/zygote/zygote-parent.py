"""The parent: takes jobs, keeps a child forked ahead for the next, and tells how each ended. It runs no user code."""

def descriptors(ancillary):
    fds = []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds += [int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data) - 3, 4)]
    return fds


def parse_job(data):
    job = json_loads(data.decode("utf-8", "surrogateescape"))
    if not isinstance(job, dict):
        raise ValueError("expected an object")
    for key in ("path", "cwd"):
        if not isinstance(job.get(key), str) or "\0" in job[key]:
            raise ValueError("expected a string for " + key)
    if not isinstance(job.get("argv"), list) or not isinstance(job.get("env"), dict):
        raise ValueError("expected a list for argv and an object for env")
    for text in [*job["argv"], *job["env"], *job["env"].values(), job.get("file", "")]:
        if not isinstance(text, str) or "\0" in text:
            raise ValueError("expected strings in argv and env")
    if not job["argv"] or any(not key or "=" in key for key in job["env"]):
        raise ValueError("expected a program name and valid variable names")
    return job


def tag_command():
    """Marks this process and all that it will start as one command; see tag_command() in guest/src/stray.c."""
    step = os.getpid() << 23
    try:
        for limit, value in ((RLIMIT_LOCKS, TAG_BASE + step), (RLIMIT_RTTIME, TAG_BASE - step)):
            KEPT["resource"].setrlimit(limit, (value, value))
    except (OSError, ValueError):
        native.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Zygote:
    def __init__(self, control):
        self.control = control
        self.standbys = {}  # pid -> (channel, release), oldest first; closing `release` lets its memory go
        self.wanted = 2  # one for the next job, one for the job after it while the first is replaced
        self.jobs = {}  # pid -> release
        self.releases = []  # of jobs that ended: closed as soon as no message is pending
        self.signals = -1
        self.buffer = bytearray(MAX_JOB)

    def say(self, text):
        try:
            self.control.send(text.encode("utf-8", "replace")[:4000])
        except OSError:
            os._exit(0)

    def fork_standby(self):
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        held, release = os.pipe()
        try:
            pid = os.fork()
        except OSError:
            here.close()
            there.close()
            os.close(held)
            os.close(release)
            raise
        if pid == 0:
            for other in (here, self.control, *(channel for channel, _ in self.standbys.values())):
                other.close()
            held_here = (*self.jobs.values(), *self.releases, *(fd for _, fd in self.standbys.values()))
            for fd in (self.signals, release, *held_here):
                os.close(fd)
            # Before the session and the domain are the program's own: those do not reach the keeper.
            there.send(b"%d" % (0 if CELL else native.keep_memory(held)))
            os.close(held)
            os.setsid()
            tag_command()
            _signal.pthread_sigmask(_signal.SIG_SETMASK, [])
            if CELL:
                enter_cell(there)
            native.keep_to_itself()
            leave_python(there)
        there.close()
        os.close(held)
        self.standbys[pid] = here, release

    def start(self, data, fds):
        """Hands one job to the standby and says which process runs it."""
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, b"".join(fd.to_bytes(4, sys.byteorder) for fd in fds))]
        while True:
            fresh = not self.standbys
            if fresh:
                self.fork_standby()
            pid = next(iter(self.standbys))
            channel, release = self.standbys.pop(pid)
            try:
                keeper = int(channel.recv(32) or 0)
                channel.sendmsg([data], rights)
            except OSError:
                os.close(release)
                if fresh:
                    raise
                continue  # the standby was killed
            finally:
                channel.close()
            self.jobs[pid] = release
            self.say("P%d %d" % (pid, keeper))
            return

    def take(self):
        """Reads one datagram; False at the end of the conversation."""
        try:
            size, ancillary, flags, _ = self.control.recvmsg_into([self.buffer], 256)
        except OSError:
            return False
        fds = descriptors(ancillary)
        try:
            if not size:
                return False
            if len(fds) not in (3, 4) or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
                raise ValueError("expected one whole job with its descriptors")
            self.start(memoryview(self.buffer)[:size], fds)
        except (ValueError, OSError, RecursionError) as error:
            self.say("E%s" % error)
        finally:
            self.buffer[:size] = bytes(size)  # the next children are forked with it
            for fd in fds:
                os.close(fd)
        return True

    def reap(self):
        sys.modules["resource"] = KEPT["resource"]  # wait4() imports it each time
        try:
            while self.reap_one():
                pass
        finally:
            del sys.modules["resource"]

    def reap_one(self):
        try:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid in self.jobs:
            release = self.jobs.pop(pid)
            micros = (pid, status, usage.ru_utime * 1e6, usage.ru_stime * 1e6, usage.ru_maxrss)
            self.say("X%d %d %d %d %d" % micros)
            self.releases.append(release)
        elif pid in self.standbys:
            channel, release = self.standbys.pop(pid)
            channel.close()
            os.close(release)
        return pid != 0

    def run(self):
        # Programs of the same user must not reach into the process that starts the next ones.
        native.prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
        self.signals = native.signalfd([_signal.SIGCHLD])
        poller = select.poll()
        poller.register(CONTROL, select.POLLIN)
        poller.register(self.signals, select.POLLIN)
        self.say("R")
        while True:
            # The timeout while jobs run is only for a preload whose threads steal SIGCHLD.
            wait = 1000 if self.jobs else None
            lacks_standby = len(self.standbys) < self.wanted
            if lacks_standby and self.jobs and not CELL:
                # A short job finishes first: forking beside it would take its memory bandwidth.
                wait = 15
            elif lacks_standby and (CELL or not self.standbys):
                # While the host hears of the last one's end; jobs with cells come one after the other without a pause.
                wait = 0
            elif lacks_standby or self.releases:
                wait = PAUSE
            ready = [fd for fd, _ in poller.poll(wait)]
            if not ready:
                while self.releases:
                    os.close(self.releases.pop())
            if not ready and lacks_standby:
                try:
                    self.fork_standby()
                except OSError:
                    time.sleep(0.01)  # no memory or processes left; the next job tries again and reports it
            if self.signals in ready:
                os.read(self.signals, 4096)
            if self.signals in ready or not ready:
                self.reap()
            if CONTROL in ready and not self.take():
                os._exit(0)


def json_loads(text):
    return LOADED["json"].loads(text)

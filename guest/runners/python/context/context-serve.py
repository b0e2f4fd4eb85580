"""The loop: takes orders from the host, one after the other."""

import gc
import resource
import time

PROCESS = os.getpid()


def serve():
    global wire, display, main
    wire = Wire(CONTROL)
    display = Display(wire)
    main = clean_main()
    save_output()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    count = 0
    wire.send({"type": "ready"})
    while True:
        order, fds = wire.receive()
        if order is None:
            os._exit(0)
        if order["op"] == "run":
            count += 1
            run(order, count)
        elif order["op"] == "freeze":
            frozen(fds)
        for fd in fds:
            os.close(fd)
        reap_copies()


def clean_main():
    """The code's own `__main__`, beside which nothing of ours is seen."""
    global OWN_MODULE
    OWN_MODULE = sys.modules["__main__"]
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    module.__annotations__ = {}
    sys.modules["__main__"] = module
    sys.argv = [""]
    sys.path[0] = os.getcwd()
    builtins.display = lambda *values: display.show(*values)
    builtins.__import__ = import_and_look
    return module


def run(order, count):
    """Runs one piece of code and tells how it ended. What forks in it and comes back here ends here."""
    display.begin(order["run"], order["resultBytes"])
    restore_output()
    started, error, code = time.process_time(), None, 0
    try:
        try:
            hear_interrupts()
            wire.send({"type": "started", "run": order["run"]})
            value = Cell(order["code"], count).run(main.__dict__)
            if value is not None:
                builtins._ = value
                display.show(value, main=True)
            show_figures()
        finally:
            ignore_interrupts()
    except SystemExit as exiting:
        ignore_interrupts()
        code = exit_code(exiting.code)
        if code != 0:
            error = {"name": "SystemExit", "value": cut(str(exiting.code)), "traceback": ""}
    except BaseException as failure:
        ignore_interrupts()
        error, code = describe(failure), 1
    if os.getpid() != PROCESS:
        leave_fork(error, code)
    flush_output()
    wire.send({
        "type": "done",
        "run": order["run"],
        "count": count,
        "exitCode": code,
        "error": error,
        "cut": display.cut,
        "cpuMs": (time.process_time() - started) * 1000,
        "memoryKb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    })


def hear_interrupts():
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def ignore_interrupts():
    """An interrupt between two pieces of code is ignored; a handler of the code's own stays."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def leave_fork(error, code):
    """A process that the code forked, and that came to the end of the code: it ends, as a program's would."""
    try:
        if error is not None:
            sys.stderr.write(error["traceback"] or error["value"] + "\n")
        flush_output()
    finally:
        os._exit(code)


COPIES = set()


def frozen(fds):
    global wire, PROCESS
    try:
        if len(fds) != 1:
            raise Cannot("it was given no way to be reached")
        pid, new_wire = freeze(fds[0])
    except (Cannot, OSError) as failure:
        wire.send({"type": "refused", "why": str(failure)})
        return
    if pid > 0:
        COPIES.add(pid)
        return
    # We are the copy that goes on.
    fds.clear()
    COPIES.clear()
    PROCESS = os.getpid()
    wire = display.wire = new_wire
    wire.send({"type": "ready"})


def reap_copies():
    for pid in list(COPIES):
        try:
            if os.waitpid(pid, os.WNOHANG)[0] == pid:
                COPIES.discard(pid)
        except ChildProcessError:
            COPIES.discard(pid)


SAVED = {}


def save_output():
    """Keeps the outputs, so that code which closes or replaces them does so for itself only."""
    for fd in (1, 2):
        SAVED[fd] = os.dup(fd)
    for name, fd in (("stdout", 1), ("stderr", 2)):
        stream = getattr(sys, name)
        if hasattr(stream, "reconfigure") and not stream.closed:
            stream.reconfigure(line_buffering=True)


def close_saved():
    for fd in SAVED.values():
        os.close(fd)
    SAVED.clear()


def restore_output():
    for name, fd in (("stdout", 1), ("stderr", 2)):
        if not is_same(fd, SAVED[fd]):
            os.dup2(SAVED[fd], fd)
        stream = getattr(sys, name, None)
        if stream is None or getattr(stream, "closed", False):
            stream = open(fd, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, "__%s__" % name, stream)


def is_same(fd, other):
    try:
        one, two = os.fstat(fd), os.fstat(other)
    except OSError:
        return False
    return (one.st_dev, one.st_ino) == (two.st_dev, two.st_ino)


def flush_output():
    for name in ("stdout", "stderr"):
        try:
            getattr(sys, name).flush()
        except BaseException:
            pass

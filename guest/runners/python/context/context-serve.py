"""The loop: takes orders from the host, one after the other."""

import gc
import resource
import time

gc = Kept(gc)
resource = Kept(resource)
time = Kept(time)
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
        go_on_until_order()
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
    OWN_MODULE = MODULES["__main__"]
    module = type(sys)("__main__")
    module.__builtins__ = builtins
    module.__annotations__ = {}
    MODULES["__main__"] = module
    sys.argv = [""]
    sys.path[0] = os.getcwd()
    builtins.display = display_values
    builtins.get_ipython = get_ipython
    builtins.input = input
    builtins.__import__ = import_and_look
    return module


def run(order, count):
    """Runs one piece of code and tells how it ended. What forks in it and comes back here ends here."""
    display.begin(order["run"], order["resultBytes"])
    restore_output()
    give_input(order.get("stdin"))
    started, error, code, interrupted = time.process_time(), None, 0, False
    try:
        try:
            hear_interrupts()
            wire.send({"type": "started", "run": order["run"]})
            cell = Cell(order["code"], count)
            value = cell.run(main.__dict__)
            if value is not None:
                builtins._ = value
                if not cell.is_quiet:
                    display.show(value, main=True)
            show_figures()
        finally:
            ignore_interrupts()
    except SystemExit as exiting:
        ignore_interrupts()
        error, code = describe_exit(exiting.code), exit_code(exiting.code)
    except BaseException as failure:
        ignore_interrupts()
        error, code, interrupted = describe(failure), 1, isinstance(failure, KeyboardInterrupt)
    if os.getpid() != PROCESS:
        leave_fork(error, code)
    flush_output()
    wire.send({
        "type": "done",
        "run": order["run"],
        "count": count,
        "exitCode": code,
        "error": error,
        "interrupted": interrupted,
        "cut": display.cut,
        "cpuMs": (time.process_time() - started) * 1000,
        "memoryKb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    })


def describe_exit(code):
    """Where an interpreter would have ended, without a word or with the one that the code gave it."""
    text = "" if code is None else cut(text_of(code))
    if code is not None and not isinstance(code, int):
        try:
            sys.stderr.write(text + "\n")
        except BaseException:
            pass
    return {"name": "SystemExit", "value": text, "traceback": ""}


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
        if error is not None and error["traceback"]:
            sys.stderr.write(error["traceback"])
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
    """Keeps input and outputs, so that code which closes or replaces them does so for itself only."""
    for fd in (0, 1, 2):
        SAVED[fd] = os.dup(fd)
    for name in ("stdout", "stderr"):
        if is_open(name) and hasattr(getattr(sys, name), "reconfigure"):
            getattr(sys, name).reconfigure(line_buffering=True)


def close_saved():
    for fd in SAVED.values():
        os.close(fd)
    SAVED.clear()


def restore_output():
    for name, fd in (("stdout", 1), ("stderr", 2)):
        if not is_same(fd, SAVED[fd]):
            os.dup2(SAVED[fd], fd)
        if not is_open(name):
            stream = open(fd, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False)
            setattr(sys, name, stream)
            setattr(sys, "__%s__" % name, stream)


def is_open(name):
    """Whether there is a stream of that name; what code has put there may fail in any way."""
    try:
        stream = getattr(sys, name, None)
        return stream is not None and not getattr(stream, "closed", False)
    except Exception:
        return False


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
    # What C libraries have printed is in buffers of libc.
    if LIBC is not None or "_ctypes" in MODULES or "_cffi_backend" in MODULES:
        libc().fflush(None)

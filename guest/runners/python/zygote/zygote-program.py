"""The steps of one child, from its fork to the program's end."""

WARM_UP = b"""__name__ = "_skerry_warm_up"
import sys
class Warm:
    def __init__(self): self.items = [str(n) for n in range(40)]
try: raise ValueError(f"{len(Warm().items)}")
except ValueError as error: depth(error)
"""


def program(channel, result, partial):
    """The steps of one child. Each yielded callable is called by C, with no frame of ours below."""
    # While it waits, the child runs a small program: it copies the pages that every program writes
    # to, and it tells how deep in the C stack programs start here.
    main = sys.modules["__main__"] = pristine_main()
    depths = []
    main.depth = lambda _: depths.append(native.depth())
    yield partial(native.run_file, native.fmemopen(WARM_UP, len(WARM_UP), b"rb"), b"<warm-up>", 1, native.compiler_flags)
    main = sys.modules["__main__"] = pristine_main()
    exercise()
    rehearse()
    try:
        path = become(receive_job(channel))
    except (OSError, ValueError, RecursionError) as error:
        os.write(2, ("skerry: cannot start Python: %s\n" % error).encode("utf-8", "backslashreplace"))
        os._exit(126)
    encoded = os.fsencode(path)
    file = native.fopen(encoded, b"rb")
    if not file:
        os._exit(2)
    ending.status = None
    del channel, main
    if depths:
        native.restore_depth(PLAIN_DEPTH, depths[0])
    yield partial(native.run_file, file, encoded, 1, native.compiler_flags)
    failed = result[-1] != 0
    if failed and getattr(sys, "last_type", None) is KeyboardInterrupt:
        native.die_by_sigint_at_exit()
        yield partial(native.py_exit, 2)
    ending.status = 1 if failed else 0
    yield partial(native.py_exit, ending.status)


def receive_job(channel):
    """Waits for the parent's job and puts its descriptors in place: the three of every program, and maybe a fourth."""
    try:
        # As long as the job is: to clear the longest possible one takes a tenth of what a short program does.
        buffer = bytearray(channel.recv_into(bytearray(1), 1, socket.MSG_PEEK | socket.MSG_TRUNC) or 1)
        size, ancillary, _, _ = channel.recvmsg_into([buffer], 64)
    except OSError:
        os._exit(0)
    if not size:
        os._exit(0)
    native.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    channel.close()
    fds = descriptors(ancillary)
    for target, fd in enumerate(fds):  # in this order: none of them is overwritten before it is in place
        os.dup2(fd, target)
    for fd in fds:
        if fd >= len(fds):
            os.close(fd)
    job = parse_job(buffer[:size])
    if "file" in job:
        put_file(job["path"], job["file"])
    return job


def put_file(path, text):
    """The program of a cell, whose workspace no other program reaches."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
    try:
        data = text.encode("utf-8", "surrogateescape")
        while data:
            data = data[os.write(fd, data) :]
    finally:
        os.close(fd)


def leave_python(channel):
    """Never returns: unwinds this file's frames and has C run program()."""
    result = deque(maxlen=1)
    steps = map(partial.__call__, program(channel, result, partial))
    message = type("Program", (), {"__str__": staticmethod(partial(result.extend, steps))})
    raise SystemExit(message())

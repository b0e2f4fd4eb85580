"""Cells: a child's own namespaces, files and limits, where the sandbox makes them. guest/src/cell.c has the steps."""

CELL = None  # made from the configuration, where programs are to have cells


class Cell:
    """What every child of this zygote gets. It is complete before there is a job, so that no job is there before it."""

    def __init__(self, ctypes, limits):
        class Settings(ctypes.Structure):
            _fields_ = [(name, ctypes.c_uint64) for name in CELL_LIMITS] + [
                ("filter", ctypes.c_void_p),
                ("filter_instructions", ctypes.c_uint32),
            ]

        directory = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0]))))  # of the guest and its libraries
        with open(directory + "/sandbox.bpf", "rb") as file:
            self.filter = ctypes.create_string_buffer(file.read())
        library = ctypes.PyDLL(directory + "/cell.so")
        size = len(self.filter) - 1  # without the zero that ctypes adds
        values = [limits.get(name, 0) for name in CELL_LIMITS]
        self.settings = Settings(*values, ctypes.addressof(self.filter), size // 8)
        self._at = ctypes.addressof(self.settings)
        for name in ("open", "lock", "give_up"):
            step = getattr(library, "skerry_cell_" + name)
            step.argtypes, step.restype = [ctypes.c_void_p], ctypes.c_long
            setattr(self, "_" + name, step)

    def open(self):
        self.check(self._open(self._at))

    def lock(self):
        self.check(self._lock(self._at))

    def give_up(self):
        self.check(self._give_up(self._at))

    def check(self, result):
        if result < 0:
            raise OSError(-result % 1000, "step %d: %s" % (-result // 1000, os.strerror(-result % 1000)))


CELL_LIMITS = ("workspace_bytes", "workspace_files", "temporary_bytes", "memory_bytes", "processes", "file_bytes")


def enter_cell(channel):
    """Returns in the process that is in the cell. The one outside waits for its end, and ends as it did."""
    try:
        CELL.open()
        held, alive = os.pipe()
        # The first process of the cell; the kernel ends all others with it. It waits for no child: their ends are ignored.
        _signal.signal(_signal.SIGCHLD, _signal.SIG_IGN)
        first = native.keep_memory(held)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        if first == 0:
            raise OSError("no first process")
        program = os.fork()
        if program == 0:
            os.close(held)
            os.close(alive)
            CELL.lock()
            return
        CELL.give_up()
    except OSError as error:
        os.write(2, ("skerry: no cell: %s\n" % error).encode("utf-8", "backslashreplace"))
        os._exit(125)
    channel.close()
    os.close(held)
    status = os.waitpid(program, 0)[1]
    os.close(alive)
    os.waitpid(first, WALL)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != _signal.SIGKILL:
            _signal.signal(number, _signal.SIG_DFL)
        os.kill(os.getpid(), number)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)

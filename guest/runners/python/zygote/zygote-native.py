"""The C functions that the zygote and its children need."""

class Native:
    """The C functions we need, bound once so that children never import ctypes."""

    _keep = None

    def __init__(self, ctypes):
        libc = ctypes.CDLL(None, use_errno=True)
        api = ctypes.PyDLL(None)
        obj, pointer, integer = ctypes.py_object, ctypes.c_void_p, ctypes.c_int
        libc.fopen.restype = pointer
        self.prctl, self.fopen = libc.prctl, libc.fopen
        self.run_file = api.PyRun_SimpleFileExFlags
        self.run_file.argtypes = [pointer, ctypes.c_char_p, integer, pointer]
        self.py_exit = api.Py_Exit
        self.exit = api.exit
        self._set_item = api.PyStructSequence_SetItem
        self._set_item.argtypes, self._set_item.restype = [obj, ctypes.c_ssize_t, obj], None
        self._incref = api.Py_IncRef
        self._incref.argtypes, self._incref.restype = [obj], None
        self._type_modified = api.PyType_Modified
        self._type_modified.argtypes, self._type_modified.restype = [obj], None
        self._flags = (ctypes.c_int * 2)(0, sys.version_info[1])
        self.compiler_flags = ctypes.addressof(self._flags)
        self._libc = libc
        # Each library that ctypes opens has a class of its own.
        self.opened_libraries = ctypes._CFuncPtr.__subclasses__
        self.flush_libc = partial(libc.fflush, None)
        self._libc_streams = [pointer.in_dll(libc, name) for name in ("stdin", "stdout", "stderr")]
        libc.signal.argtypes = [integer, pointer]
        libc.fmemopen.argtypes, libc.fmemopen.restype = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p], pointer
        self.fmemopen = libc.fmemopen
        api.PyThreadState_Get.restype = pointer
        self._thread_state = (ctypes.c_int * 128).from_address(api.PyThreadState_Get())
        self._depth_at = self._find_recursion_counter()
        self.load_keeper(ctypes)

    def _find_recursion_counter(self):
        """Finds the thread's recursion counters: integers that move by one with each call."""

        def snapshot(depth):
            return snapshot(depth - 1) if depth else list(self._thread_state)

        shallow, deep, deeper = snapshot(0), snapshot(5), snapshot(12)
        found = [
            at
            for at, value in enumerate(shallow)
            if abs(deep[at] - value) == 5 and deeper[at] - deep[at] == 7 * (deep[at] - value) // 5
        ]
        if len(found) != 1:
            return []
        # 3.12 and 3.13 count C calls apart, two fields further on.
        return [found[0], found[0] + 2] if (3, 12) <= sys.version_info < (3, 14) else found

    def depth(self):
        return [self._thread_state[at] for at in self._depth_at]

    def restore_depth(self, plain, here):
        """Our few C calls below the program must not eat into its recursion limit."""
        for at, wanted, found in zip(self._depth_at, plain, here):
            self._thread_state[at] += wanted - found

    def keep_to_itself(self):
        """A Landlock domain, so that a job cannot stop or kill us; see keep_to_itself() in guest/src/exec.c."""
        if self.prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1:
            return
        rules = (0).to_bytes(16, "little") + (2).to_bytes(8, "little")
        fd = self._libc.syscall(444, rules, 24, 0)
        if fd >= 0:
            self._libc.syscall(446, fd, 0)
            os.close(fd)

    def flush_and_exit(self, status):
        self.flush_libc()
        posix._exit(status)

    def unbuffer_libc(self):
        for stream in self._libc_streams:
            self._libc.setvbuf(stream, None, IONBF, 0)

    def load_keeper(self, ctypes):
        """Where the guest has memory-keeper.c built; without it a program's end only takes longer."""
        try:
            library = ctypes.PyDLL(os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0])))), "memory-keeper.so"))
        except OSError:
            return
        self._keep = library.skerry_keep_memory
        self._keep.argtypes, self._keep.restype = [ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p], ctypes.c_long
        self._keeper_stack = ctypes.create_string_buffer(8192)
        self._keeper_ready = ctypes.c_int(0)
        self._keeper_arguments = (
            (ctypes.addressof(self._keeper_stack) + 8192) & ~15,
            ctypes.addressof(self._keeper_ready),
        )

    def keep_memory(self, pipe):
        """Has a second process share our memory until `pipe` is closed; its pid, or 0."""
        if self._keep is None:
            return 0
        pid = self._keep(pipe, *self._keeper_arguments)
        if pid <= 0:
            return 0
        give_up_at = time.monotonic() + 1
        while self._keeper_ready.value == 0 and time.monotonic() < give_up_at:
            time.sleep(0.0001)
        if self._keeper_ready.value == 1:
            return pid
        os.kill(pid, _signal.SIGKILL)  # not locked in: the program must not find it
        os.waitpid(pid, WALL)
        return 0

    def signalfd(self, signals):
        mask = bytearray(128)
        for number in signals:
            mask[(number - 1) // 8] |= 1 << (number - 1) % 8
        return self._libc.signalfd(-1, bytes(mask), 0o2000000)

    def set_flag(self, flags, index, value):
        self._incref(value)
        self._set_item(flags, index, value)

    def set_type_attribute(self, cls, name, value):
        gc.get_referents(cls.__dict__)[0][name] = value
        self._type_modified(cls)

    def die_by_sigint_at_exit(self):
        """Makes exit(2) end by SIGINT: glibc hands the status, which is SIGINT's number, to raise()."""
        self._libc.signal(_signal.SIGINT, None)
        if hasattr(self._libc, "on_exit"):
            self._libc.on_exit(getattr(self._libc, "raise"), None)

"""In a child: turns a fork into what `python3 path args` is just before the program's first line."""

def rehearse():
    """Goes through the motions of become(), so that the pages it writes to are ours by the time it counts."""
    env = dict(START_ENV)
    path = REHEARSAL["path"]
    parse_job(REHEARSAL_TEXT)
    needs_cold_start(REHEARSAL, path, search_path_of(env, path))
    replace_environment(env)
    open_streams(env)
    native.fopen(b"/dev/null/none", b"rb")
    for flat in (*FLAT.values(), LOOK_ALIKES):
        dict(flat)
    if "numpy.random" in LOADED:
        LOADED["numpy.random"].seed()  # its state came with the fork; each child runs one job


# What most programs that import these do first. Nothing here may import, print, draw random numbers or keep anything.
EXERCISES = {
    "numpy": "m.arange(10).sum(); m.array([[1.0, 2.0], [3.0, 4.0]]).mean(axis=0)",
    "pandas": "m.Series([1, 2, 3]).sum(); m.DataFrame({'a': [1, 2], 'b': [1.5, 2.5]})['a'].mean()",
}


def exercise():
    """Uses what is preloaded a little, for the same reason: most of a first call is copying pages."""
    for name, code in EXERCISES.items():
        if name in LOADED:
            try:
                exec(code, {"m": LOADED[name]})
            except Exception:
                pass  # another version of it: the program may still work
    if len(sys.modules) > len(BASELINE):
        set_aside()


def become(job):
    """Turns this fork into what `python3 path args` is just before the program's first line."""
    env = job["env"]
    os.chdir(job["cwd"])
    path = job["path"]
    if not path.startswith("/") and sys.version_info >= (3, 9):
        path = os.path.join(os.getcwd(), path)
    search_path = search_path_of(env, path)
    if needs_cold_start(job, path, search_path):
        for number in (_signal.SIGPIPE, _signal.SIGXFSZ):
            _signal.signal(number, _signal.SIG_DFL)
        os.execve(sys.executable, [ARGV0, job["path"], *job["argv"][1:]], env)
    replace_environment(env)
    sys.argv = list(job["argv"])
    if hasattr(sys, "orig_argv"):
        sys.orig_argv = [ARGV0, job["path"], *job["argv"][1:]]
    sys.path[:] = search_path
    dont_write = flag_of(env, "PYTHONDONTWRITEBYTECODE")
    if dont_write != sys.flags.dont_write_bytecode:
        sys.dont_write_bytecode = bool(dont_write)
        native.set_flag(sys.flags, 4, dont_write)
    open_streams(env)
    if "threading" in sys.modules:
        SERVING["renew_threading"](sys.modules["threading"])
    return path


def replace_environment(env):
    environ = os.environ
    data = environ._data
    encode = os.fsencode
    for key in list(data):
        posix.unsetenv(key)
    data.clear()
    posix.environ.clear()
    if is_coerced(env):
        env = dict(env, LC_CTYPE="C.UTF-8")
    for key, value in env.items():
        key, value = encode(key), encode(value)
        posix.putenv(key, value)
        data[key] = value
        posix.environ[key] = value
    if env.get("TZ") != START_ENV.get("TZ"):
        sys.modules["time"].tzset()
    home = env.get("HOME")
    if home is not None and home != START_ENV.get("HOME"):
        import site

        if site.USER_BASE:
            site.USER_BASE = home.rstrip("/") + "/.local"
            site.USER_SITE = "%s/lib/python%d.%d/site-packages" % (site.USER_BASE, *sys.version_info[:2])


def open_streams(env):
    """Makes sys.stdin, stdout and stderr by the rules of CPython's create_stdio()."""
    _, _, io_errors = env.get("PYTHONIOENCODING", "").partition(":")
    if not io_errors and env.get("PYTHONIOENCODING"):
        io_errors = "strict"
    buffered = not flag_of(env, "PYTHONUNBUFFERED")
    if not buffered:
        native.unbuffer_libc()
    for fd, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        errors = "backslashreplace" if fd == 2 else io_errors or STREAM_ERRORS
        binary = _io.open(fd, mode + "b", 0 if fd and not buffered else -1, None, None, None, False)
        raw = getattr(binary, "raw", binary)
        raw.name = "<%s>" % name
        by_line = buffered and (raw.isatty() or (fd == 2 and sys.version_info >= (3, 9)))
        stream = _io.TextIOWrapper(binary, STREAM_ENCODING, errors, "\n", by_line, not buffered)
        stream.mode = mode
        setattr(sys, name, stream)
        setattr(sys, "__%s__" % name, stream)


def pristine_main():
    """A `__main__` as the interpreter makes it before it reads a program."""
    main = ModuleType("__main__")
    main.__loader__ = importlib_core.BuiltinImporter
    if sys.version_info < (3, 14):
        main.__annotations__ = {}
    main.__builtins__ = sys.modules["builtins"]
    return main

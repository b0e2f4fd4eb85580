"""A started Python that runs each job in a fork of itself, exactly as `python3 file args` would.

Control messages are datagrams on descriptor 3 (see README.md beside this file). The parent never
runs user code; it keeps one child forked ahead ("standby") and hands it the next job.

Two ideas carry the fidelity:

* The child leaves this file by raising SystemExit with an object whose `__str__` is a C callable.
  CPython unwinds every Python frame first and only then asks for that string, so the program is
  started by the interpreter's own C code (PyRun_*) with no frame of ours below it. Tracebacks,
  SystemExit, atexit, threads and finalisation are CPython's, not imitations.
* Preloaded modules are not left in `sys.modules`. The importer finds a module's spec as ever; when
  the spec names the very file that is already loaded, the loaded module is used instead of
  executing it again. A user's `json.py` therefore wins, and `sys.modules` looks untouched.

What a fork cannot do exactly (another hash seed, `PYTHONOPTIMIZE`, a shadowed preload) the child
does by executing the real interpreter: same pid, same descriptors, only slower.
"""

import sys

BASELINE = list(sys.modules)  # what a plain run has loaded before its first line
BASE_PATH = sys.path[1:]

import os
import posix
import _frozen_importlib as importlib_core
import _io
import _signal
import _warnings
import time

CONTROL = 3
PR_SET_DUMPABLE = 4
PR_SET_CHILD_SUBREAPER = 36
PR_GET_NO_NEW_PRIVS = 39
PAUSE = 3  # milliseconds after a job's end in which its news travels; what can wait does
WALL = 0x40000000  # waits for children that end without a signal, too
MAX_JOB = 1 << 20
ModuleType = type(sys)

# Settings that Python reads only while it starts, and that a fork can honour all the same.
PYTHON_ENV_HONOURED = {
    "PYTHONPATH", "PYTHONIOENCODING", "PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE",
    "PYTHONBREAKPOINT", "PYTHONASYNCIODEBUG", "PYTHONSTARTUP",
}
# Read by the dynamic linker, libc or a preloaded library when it loads: they must be as at our start.
START_ENV_PREFIXES = (
    "LD_", "MALLOC_", "GLIBC_", "OMP_", "GOMP_", "OPENBLAS_", "GOTO_", "MKL_", "BLIS_", "NUMEXPR_",
    "NPY_", "NUMPY_", "MPL", "PANDAS_", "OPENSSL_", "KMP_", "PYTHON",
)


def start_env():
    """The environment this process was started with, before Python changed it."""
    with open("/proc/self/environ", "rb") as file:
        pairs = (entry.split(b"=", 1) for entry in file.read().split(b"\0") if b"=" in entry)
        return {os.fsdecode(key): os.fsdecode(value) for key, value in pairs}


def ensure_clean_start():
    """Jobs choose their own PYTHON* settings, so ours must be the defaults."""
    unwanted = [key for key in os.environ if key.startswith("PYTHON")]
    if not unwanted:
        return
    env = {key: value for key, value in start_env().items() if key not in unwanted}
    os.execve(sys.executable, [ARGV0, "-s", *sys.argv], env)


ARGV0 = sys.orig_argv[0] if hasattr(sys, "orig_argv") else os.path.basename(sys.executable)
ensure_clean_start()
START_ENV = start_env()


# --- Modules loaded ahead -------------------------------------------------------------------------

LOADED = {}  # name -> module, for everything loaded here that a plain run would not have
IMPORTS = {}  # name -> names its execution imported, in order
FLAT = {}  # requested name -> {name: module} of all that its import completes, in that order
NOTABLE = []  # names whose import does more than appear in sys.modules, in order of completion
EFFECTS = {}  # name -> what its execution added to the interpreter: (warning filters, finders)
TOP_NAMES = set()  # top-level names in LOADED: what a user's file must not be called

_LOADING = []


def _note_import(name):
    if _LOADING:
        names = IMPORTS.setdefault(_LOADING[-1], [])
        if name not in names:
            names.append(name)


def _recording_load(spec):
    """Stands in for importlib's loader while preloading, to learn who imports whom."""
    _note_import(spec.name)
    if spec.name in LOADED:
        SERVING["restore"](spec.name)
        return LOADED[spec.name]
    _LOADING.append(spec.name)
    known = set(sys.modules)
    filters, finders = list(_warnings.filters), list(sys.meta_path)
    try:
        return _plain_load(spec)
    finally:
        for name in sys.modules:  # modules that put others in place without importing them
            if name not in known and name not in IMPORTS and name != spec.name:
                _note_import(name)
        effects = (
            [entry for entry in _warnings.filters if entry not in filters],
            [finder for finder in sys.meta_path if finder not in finders],
        )
        if any(effects):
            EFFECTS[spec.name] = effects
        IMPORTS.setdefault(spec.name, [])
        _LOADING.pop()


def _recording_import(name, globals=None, locals=None, fromlist=(), level=0):
    module = _plain_import(name, globals, locals, fromlist, level)
    if _LOADING:
        if level:
            package = globals.get("__package__") or globals["__name__"].rpartition(".")[0]
            base = package.rsplit(".", level - 1)[0] if level > 1 else package
            name = base + "." + name if name else base
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            _note_import(".".join(parts[:end]))
        for item in fromlist or ():
            if isinstance(item, str) and name + "." + item in sys.modules:
                _note_import(name + "." + item)
    return module


def preload(names, warn):
    """Imports `names`, then takes all of it out of `sys.modules` into LOADED."""
    global _plain_load, _plain_import
    import builtins

    _plain_load, _plain_import = importlib_core._load_unlocked, builtins.__import__
    importlib_core._load_unlocked = _recording_load
    builtins.__import__ = _recording_import
    script_dir = sys.path.pop(0)
    try:
        for name in names:
            try:
                builtins.__import__(name)
            except BaseException as error:  # a broken preload must not cost the sandbox its Python
                if warn:
                    warn("%s: %s: %s" % (name, type(error).__name__, error))
            set_aside()
    finally:
        builtins.__import__ = _plain_import
        importlib_core._load_unlocked = _plain_load
        sys.path.insert(0, script_dir)
    sys.path_importer_cache.pop(script_dir, None)


def set_aside():
    """Makes the interpreter look as if nothing had been imported since it started."""
    for name in [name for name in sys.modules if name not in BASELINE]:
        LOADED[name] = sys.modules.pop(name)
        parent, _, child = name.rpartition(".")
        if parent in BASELINE and getattr(sys.modules[parent], child, None) is LOADED[name]:
            delattr(sys.modules[parent], child)
        TOP_NAMES.add(name.partition(".")[0])
    if _warnings.filters != BASE_FILTERS:
        _warnings.filters[:] = BASE_FILTERS
        _mutate_filters()
    sys.meta_path[:] = BASE_META_PATH
    SERVING["meta_path"][:] = BASE_META_PATH
    SERVING["SERVED"].clear()


def flatten(names):
    """Works out ahead what importing each of `names` restores: walking a thousand modules per job takes longer."""
    notable = {}
    for name in names:
        order = FLAT[name] = {}
        walk(name, order, set())
        notable.update(dict.fromkeys(each for each in order if is_notable(each)))
    NOTABLE[:] = notable


def walk(name, order, seen):
    if name in seen or name not in LOADED:
        return
    seen.add(name)
    for imported in IMPORTS.get(name, ()):
        walk(imported, order, seen)
    order[name] = LOADED[name]


def is_notable(name):
    parent = name.rpartition(".")[0]
    return name in EFFECTS or name == "threading" or (parent and parent not in LOADED)


def _mutate_filters():
    # Renamed in 3.14.
    mutated = getattr(_warnings, "_filters_mutated", None) or getattr(_warnings, "_filters_mutated_lock_held", None)
    try:
        mutated()
    except Exception:
        pass


# importlib hides its own frames from tracebacks by their file name, so this code carries it too.
SERVE_SOURCE = '''
def _load_unlocked(spec):
    module = serve(spec)
    return plain_load(spec) if module is None else module

def serve(spec):
    module = LOADED.get(spec.name)
    if module is None or spec.name in SERVED:
        return None
    loaded = getattr(module, "__spec__", None)
    if loaded is None or loaded.origin != spec.origin or type(loaded.loader) is not type(spec.loader):
        return None
    if meta_path != sys.meta_path or path_hooks != sys.path_hooks or shadowed(sys.path):
        return None
    if spec.name in FLAT:
        restore_at_once(FLAT[spec.name])
    else:
        restore(spec.name)
    return module

def restore_at_once(flat):
    modules = sys.modules
    missing = {name: module for name, module in flat.items() if name not in modules and name not in SERVED}
    SERVED.update(missing)
    modules.update(missing)
    for name in NOTABLE:
        if name in missing:
            finish(name, missing[name])

def restore(name):
    modules = sys.modules
    if name in modules or name not in LOADED or name in SERVED:
        return
    SERVED.add(name)
    module = modules[name] = LOADED[name]
    for imported in IMPORTS.get(name, ()):
        restore(imported)
    modules[name] = modules.pop(name)  # as importlib does: the order is that of completion
    finish(name, module)

def finish(name, module):
    modules = sys.modules
    parent, _, child = name.rpartition(".")
    if parent in modules and parent not in LOADED and not hasattr(modules[parent], child):
        setattr(modules[parent], child, module)
    if name in EFFECTS:
        filters, finders = EFFECTS[name]
        for entry in reversed(filters):
            if entry not in warning_filters:
                warning_filters.insert(0, entry)
        if filters:
            mutate_filters()
        sys.meta_path += finders
        meta_path.extend(finders)
    if name == "threading":
        renew_threading(module)

def renew_threading(threading):
    threading.main_thread()._native_id = threading.get_native_id()
    threading._counter = threading._count(1).__next__  # a preload may have started threads
'''


def shadowed(path, names=TOP_NAMES):
    """Whether a directory of `path` that is not ours has a module with one of `names`."""
    for directory in path:
        if directory in BASE_PATH_SET:
            continue
        try:
            entries = posix.listdir(directory or ".")
        except OSError:
            if directory.endswith((".zip", ".egg", ".whl")):
                return True
            continue
        for entry in entries:
            name, _, suffix = entry.partition(".")
            if name in names and (suffix.endswith(("py", "pyc", "so")) or not suffix):
                return True
    return False


BASE_FILTERS = list(_warnings.filters)
BASE_META_PATH = list(sys.meta_path)
SERVING = {
    "sys": sys, "LOADED": LOADED, "IMPORTS": IMPORTS, "FLAT": FLAT, "NOTABLE": NOTABLE, "EFFECTS": EFFECTS, "SERVED": set(), "shadowed": shadowed,
    "plain_load": importlib_core._load_unlocked, "mutate_filters": _mutate_filters, "warning_filters": _warnings.filters,
    "meta_path": list(sys.meta_path), "path_hooks": list(sys.path_hooks),
    "__name__": "importlib._bootstrap", "__builtins__": __builtins__,
}
exec(compile(SERVE_SOURCE, "<frozen importlib._bootstrap>", "exec"), SERVING)


# --- Can this job run in a fork? ------------------------------------------------------------------

C_LOCALES = ("", "C", "POSIX")
C_UTF8_LOCALES = ("C.UTF-8", "C.utf8")


def locale_of(env):
    """Names the locale Python would start with; jobs of another one start cold."""
    name = env.get("LC_ALL") or env.get("LC_CTYPE") or env.get("LANG") or ""
    if name in C_LOCALES:
        return "C" if env.get("LC_ALL") else "C coerced"
    return "C.UTF-8" if name in C_UTF8_LOCALES else name


def is_coerced(env):
    """PEP 538: in the C locale Python sets LC_CTYPE for itself and its children."""
    return START_COERCED and not env.get("LC_ALL")


def flag_of(env, key):
    value = env.get(key)
    if not value:
        return 0
    try:
        return max(int(value), 0) if int(value) >= 0 else 1
    except ValueError:
        return 1


def needs_cold_start(job, path, search_path):
    """Says why a plain interpreter must be started for this job, or None."""
    env = job["env"]
    for key, value in env.items():
        if key.startswith(START_ENV_PREFIXES) and key not in PYTHON_ENV_HONOURED:
            if value and START_ENV.get(key) != value and not (key == "PYTHONHASHSEED" and value == "random"):
                return key
    for key in START_ENV:
        if key.startswith(START_ENV_PREFIXES) and key not in env:
            return key
    if locale_of(env) != START_LOCALE:
        return "locale"
    if env.get("PYTHONIOENCODING", "").partition(":")[0].lower() not in ("", "utf-8", "utf8"):
        return "PYTHONIOENCODING"
    if ("HOME" in env) != ("HOME" in START_ENV):
        return "HOME"
    if user_site(env.get("HOME")) != START_USER_SITE:
        return "user site"
    if env.get("PYTHONPATH") and shadowed(search_path[1:], START_NAMES):
        return "PYTHONPATH"
    if not os.path.isfile(path) or not path.endswith(".py"):
        return "not a .py file"
    if shadowed(search_path):
        return "shadowed module"
    return None


def user_site(home):
    """The user's site-packages, if Python would put it on the path."""
    if home is None:
        return None
    directory = "%s/.local/lib/python%d.%d/site-packages" % (home.rstrip("/"), *sys.version_info[:2])
    return directory if os.path.isdir(directory) else None


def search_path_of(env, path):
    directory = os.path.dirname(os.path.realpath(path))
    python_path = env.get("PYTHONPATH")
    if not python_path:
        return [directory, *ABSOLUTE_BASE_PATH]
    return [directory, *dict.fromkeys(os.path.abspath(entry) for entry in python_path.split(":") + BASE_PATH)]


# --- In the child ---------------------------------------------------------------------------------


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


def exit_status(code):
    """What C makes of `SystemExit.code`."""
    if code is None:
        return 0
    if not isinstance(code, int):
        return 1
    return code & 0xFF if -(1 << 63) <= code < 1 << 63 else 255


class Exit:
    """Knows how the process will end, so that finalisation can stop once nobody can see it."""

    status = None

    def watch_system_exit(self):
        # CPython reads `SystemExit.code` from C with no Python frame below: only then it is exiting.
        member = SystemExit.__dict__["code"]
        getframe = sys._getframe

        def read(error):
            code = member.__get__(error, SystemExit)
            if getframe().f_back is None:
                self.status = exit_status(code)
            return code

        native.set_type_attribute(SystemExit, "code", property(read, member.__set__, member.__delete__, member.__doc__))

    def last_atexit(self):
        """Runs after every user handler: arranges to leave before the costly, invisible part."""
        status = self.status
        if status is None:
            return
        try:
            for stream in (sys.stdout, sys.stderr):
                if stream is not None and not stream.closed:
                    stream.flush()
        except BaseException:
            return  # CPython's own path reports it and exits with 120
        # Finalisation empties every module in sys.modules. It passes over things that are not modules,
        # so what we loaded is swapped for look-alikes, which `import` in a late `__del__` still finds.
        modules = sys.modules
        modules.update({name: twin for name, twin in LOOK_ALIKES.items() if modules.get(name) is KEPT[name]})
        sys._skerry_leave = Leave(status, sys.__stdout__, sys.__stderr__)


class LookAlike:
    """A module's attributes without being a module."""

    def __init__(self, module):
        self.__dict__ = module.__dict__


class Leave:
    """Dies when CPython clears the `sys` module, which is after all user objects are gone."""

    def __init__(self, status, *streams):
        self.status, self.streams, self.leave = status, streams, posix._exit

    def __del__(self):
        for stream in self.streams:
            try:
                stream.flush()
            except BaseException:
                pass
        self.leave(self.status)


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
        self._set_item = api.PyStructSequence_SetItem
        self._set_item.argtypes, self._set_item.restype = [obj, ctypes.c_ssize_t, obj], None
        self._incref = api.Py_IncRef
        self._incref.argtypes, self._incref.restype = [obj], None
        self._type_modified = api.PyType_Modified
        self._type_modified.argtypes, self._type_modified.restype = [obj], None
        self._flags = (ctypes.c_int * 2)(0, sys.version_info[1])
        self.compiler_flags = ctypes.addressof(self._flags)
        self._libc = libc
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

    def load_keeper(self, ctypes):
        """Where memory-keeper.c is built beside us; without it a program's end only takes longer."""
        try:
            library = ctypes.PyDLL(os.path.join(os.path.dirname(os.path.abspath(sys.argv[0])), "memory-keeper.so"))
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


WARM_UP = b"""import sys
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
    """Waits for the parent's job and puts its three descriptors in place."""
    buffer = bytearray(MAX_JOB)
    try:
        size, ancillary, _, _ = channel.recvmsg_into([buffer], 64)
    except OSError:
        os._exit(0)
    if not size:
        os._exit(0)
    native.prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
    fds = descriptors(ancillary)
    for target, fd in enumerate(fds):
        os.dup2(fd, target)
    for fd in fds:
        os.close(fd)
    channel.close()
    return parse_job(buffer[:size])


def leave_python(channel):
    """Never returns: unwinds this file's frames and has C run program()."""
    result = deque(maxlen=1)
    steps = map(partial.__call__, program(channel, result, partial))
    message = type("Program", (), {"__str__": staticmethod(partial(result.extend, steps))})
    raise SystemExit(message())


# --- In the parent --------------------------------------------------------------------------------


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
    for text in [*job["argv"], *job["env"], *job["env"].values()]:
        if not isinstance(text, str) or "\0" in text:
            raise ValueError("expected strings in argv and env")
    if not job["argv"] or any(not key or "=" in key for key in job["env"]):
        raise ValueError("expected a program name and valid variable names")
    return job


class Zygote:
    def __init__(self, control):
        self.control = control
        self.standbys = {}  # pid -> (channel, release), oldest first; closing `release` lets its memory go
        self.wanted = 2  # one for the next job, one for the job after it while the first is replaced
        self.jobs = {}  # pid -> release
        self.releases = []  # of jobs that ended: closed as soon as nobody waits for the news
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
            there.send(b"%d" % native.keep_memory(held))
            os.close(held)
            os.setsid()
            native.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
            native.keep_to_itself()
            _signal.pthread_sigmask(_signal.SIG_SETMASK, [])
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
                continue  # someone killed the standby
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
            if len(fds) != 3 or flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
                raise ValueError("expected one whole job with three descriptors")
            self.start(bytes(self.buffer[:size]), fds)
        except (ValueError, OSError, RecursionError) as error:
            self.say("E%s" % error)
        finally:
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
            if len(self.standbys) < self.wanted:
                # A short job finishes first: forking beside it would take its memory bandwidth.
                wait = 15 if self.jobs else PAUSE
                if not self.standbys:
                    wait = 0
            elif self.releases:
                wait = PAUSE
            ready = [fd for fd, _ in poller.poll(wait)]
            if not ready:
                while self.releases:
                    os.close(self.releases.pop())
            if not ready and len(self.standbys) < self.wanted:
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


# Jobs see neither this module nor what it needed: they get a `__main__` of their own.
ZYGOTE_MODULE = sys.modules["__main__"]
__name__ = "_skerry_zygote"
sys.modules["__main__"] = pristine_main()

BASE_PATH_SET = frozenset(BASE_PATH)
ABSOLUTE_BASE_PATH = list(dict.fromkeys(os.path.abspath(entry) for entry in BASE_PATH))
# What Python imports while it starts, with PYTHONPATH already in force.
START_NAMES = {name.partition(".")[0] for name in BASELINE} | {"sitecustomize", "usercustomize"}
START_LOCALE = locale_of(START_ENV)
START_COERCED = os.environ.get("LC_CTYPE") != START_ENV.get("LC_CTYPE")
START_USER_SITE = None  # we start with -s: a job that has one gets a real interpreter
STREAM_ENCODING, STREAM_ERRORS = sys.stdout.encoding, sys.stdout.errors

# Before any preload can start a thread: SIGCHLD must reach our signalfd and no one else.
_signal.pthread_sigmask(_signal.SIG_BLOCK, [_signal.SIGCHLD])
preload(["_collections", "_functools", "_socket", "atexit", "ctypes", "gc", "json", "resource", "select"], None)


def loaded(name):
    return LOADED.get(name) or sys.modules[name]


socket, select, gc = loaded("_socket"), loaded("select"), loaded("gc")
deque, partial = loaded("_collections").deque, loaded("_functools").partial
native = Native(loaded("ctypes"))
# We start with -s; jobs must not notice. Those that would have a user site get a real interpreter.
native.set_flag(sys.flags, 5, 0)  # no_user_site
if "site" in sys.modules:
    sys.modules["site"].ENABLE_USER_SITE = True
depths = []
(lambda _: depths.append(native.depth()))(None)
PLAIN_DEPTH = depths[0]

ending = Exit()
loaded("atexit").register(ending.last_atexit)
zygote = Zygote(socket.socket(fileno=CONTROL))
config = json_loads(sys.argv[1]) if len(sys.argv) > 1 else {}
zygote.wanted = config.get("standbys", zygote.wanted)
names = config.get("preload", [])
# C extensions import threading unseen by the recorder unless it is set aside before.
preload(["threading", *names] if names else [], lambda text: zygote.say("W" + text))
flatten([name for name in names if name in LOADED])
KEPT = {**sys.modules, **LOADED}
del KEPT["__main__"]
# Made ahead and side by side: making them at each exit would copy the pages of a thousand modules.
LOOK_ALIKES = {
    name: LookAlike(module)
    for name, module in KEPT.items()
    if isinstance(module, ModuleType) and module not in (sys, KEPT["builtins"])
}
REHEARSAL = {"path": os.path.abspath(sys.argv[0]), "argv": ["rehearsal", "argument"], "cwd": "/", "env": START_ENV}
REHEARSAL_TEXT = LOADED["json"].dumps(REHEARSAL).encode()
ending.watch_system_exit()
importlib_core._load_unlocked = SERVING["_load_unlocked"]
gc.collect()
gc.freeze()
zygote.run()

"""Makes the zygote out of its parts: preloads, and everything that children find made."""

# Jobs see neither this module nor what it needed: they get a `__main__` of their own.
ZYGOTE_MODULE = sys.modules["__main__"]
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
PLAIN_DEPTH = []  # how deep in the C stack a program starts
ending = Exit()
loaded("atexit").register(ending.last_atexit)
zygote = Zygote(socket.socket(fileno=CONTROL))
config = json_loads(sys.argv[1]) if len(sys.argv) > 1 else {}
zygote.wanted = config.get("standbys", zygote.wanted)
if "cell" in config:
    CELL = Cell(loaded("ctypes"), config["cell"])
names = config.get("preload", [])
# C extensions import threading unseen by the recorder unless it is set aside before.
preload(["threading", *names] if names else [], lambda text: zygote.say("W" + text))
native.flush_libc()  # what a preload printed is not a program's
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
ExtensionFileLoader = sys.modules["_frozen_importlib_external"].ExtensionFileLoader
gc.collect()
OPENED_LIBRARIES = len(native.opened_libraries())
ending.watch_system_exit()
importlib_core._load_unlocked = SERVING["_load_unlocked"]

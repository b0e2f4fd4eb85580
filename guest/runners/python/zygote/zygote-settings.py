"""What the zygote starts from: constants, and the environment before Python changed it."""

import os
import posix
import _frozen_importlib as importlib_core
import _io
import _signal
import _warnings
import time

CONTROL = 3
PR_SET_DUMPABLE = 4
IONBF = 2
PR_SET_CHILD_SUBREAPER = 36
PR_GET_NO_NEW_PRIVS = 39
RLIMIT_LOCKS, RLIMIT_RTTIME, TAG_BASE = 10, 15, 1 << 62
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

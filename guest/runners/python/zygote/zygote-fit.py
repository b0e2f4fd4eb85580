"""Can this job run in a fork, exactly as a plain interpreter would run it?"""

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

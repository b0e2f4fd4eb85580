"""Modules loaded ahead: recorded while they load, kept out of sight, and given to a program that imports them."""

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
    """Stands in for importlib's loader while preloading, to learn which module imports which."""
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

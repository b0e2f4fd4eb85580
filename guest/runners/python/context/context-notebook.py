"""What code expects that was written for a notebook: parts that are read when it asks for them."""

NAMESPACE = globals()
plain_import = builtins.__import__


def read_part(name):
    if name not in MODULES_READ:
        MODULES_READ.add(name)
        with open("%s/context-%s.py" % (DIRECTORY, name), "rb") as source:
            exec(compile(source.read(), source.name, "exec"), NAMESPACE)


MODULES_READ = set()


def get_ipython():
    """Stands for IPython's shell: `system`, `getoutput`, `run_line_magic` and `run_cell_magic`."""
    read_part("magics")
    return SHELL


def import_and_look(name, *args, **keywords):
    """Stands in for __import__, to give pyplot our show(), and code an IPython whose display() is ours."""
    try:
        module = plain_import(name, *args, **keywords)
    except ModuleNotFoundError as error:
        # A library that looks for it takes this for a notebook if it finds one.
        if error.name != "IPython" or not args or args[0] is not main.__dict__:
            raise
        provide_ipython()
        module = plain_import(name, *args, **keywords)
    if taught_pyplot is None and "matplotlib.pyplot" in MODULES:
        teach_pyplot(MODULES["matplotlib.pyplot"])
    if "IPython.display" in MODULES:
        teach_ipython()
    return module


def provide_ipython():
    """Puts an IPython in place that has the names of `IPython.display`, where there is none."""
    if "IPython.display" in MODULES:
        return
    module = {name: type(sys)(name) for name in ("IPython", "IPython.core", "IPython.display")}
    package, core, shown = module.values()
    package.__path__ = core.__path__ = []
    package.version_info, package.__version__ = (8, 0, 0), "8.0.0"
    package.core, package.display, core.display = core, shown, shown
    # Libraries ask this, too, and would go on to parts of it that are not here.
    package.get_ipython = lambda: get_ipython() if sys._getframe(1).f_globals is main.__dict__ else None
    with open(DIRECTORY + "/ipython-display.py", "rb") as source:
        exec(compile(source.read(), source.name, "exec"), shown.__dict__)
    MODULES.update(module)
    MODULES["IPython.core.display"] = MODULES["IPython.core.display_functions"] = shown


taught_ipython = None


def teach_ipython():
    """Without its own shell, IPython's functions print what they should show."""
    global taught_ipython
    if taught_ipython is MODULES["IPython.display"]:
        return
    taught_ipython = MODULES["IPython.display"]
    for name in ("IPython.display", "IPython.core.display_functions"):
        if name in MODULES:
            MODULES[name].display = display_values
            MODULES[name].publish_display_data = publish_display_data


def publish_display_data(data, metadata=None, **_):
    display_values(data, raw=True)

"""How a program ends: as CPython ends it, without the costly part that has no visible effect."""

def exit_status(code):
    """What C makes of `SystemExit.code`."""
    if code is None:
        return 0
    if not isinstance(code, int):
        return 1
    return code & 0xFF if -(1 << 63) <= code < 1 << 63 else 255


class Exit:
    """Knows how the process will end, so that finalisation can stop once it has no visible effect."""

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
        leave = native.exit if loaded_libraries() else native.flush_and_exit
        # Finalisation empties every module in sys.modules. It passes over things that are not modules,
        # so what we loaded is swapped for look-alikes, which `import` in a late `__del__` still finds.
        modules = sys.modules
        modules.update({name: twin for name, twin in LOOK_ALIKES.items() if modules.get(name) is KEPT[name]})
        sys._skerry_leave = Leave(status, leave, sys.__stdout__, sys.__stderr__)


def loaded_libraries():
    """Whether the program has loaded C code that was not preloaded: that may have asked libc to be told of the end.

    For all others libc's exit only takes time, since it visits every library.
    """
    if len(native.opened_libraries()) > OPENED_LIBRARIES:
        return True
    return any(
        type(module) is ModuleType
        and KEPT.get(name) is not module
        and type(getattr(module.__dict__.get("__spec__"), "loader", None)) is ExtensionFileLoader
        for name, module in sys.modules.items()
    )


class LookAlike:
    """A module's attributes without being a module."""

    def __init__(self, module):
        self.__dict__ = module.__dict__


class Leave:
    """Dies when CPython clears the `sys` module, which is after all user objects are gone."""

    def __init__(self, status, leave, *streams):
        self.status, self.leave, self.streams = status, leave, streams

    def __del__(self):
        for stream in self.streams:
            try:
                stream.flush()
            except BaseException:
                pass
        self.leave(self.status)

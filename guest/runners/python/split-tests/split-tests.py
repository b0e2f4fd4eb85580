"""Runs tests whose solution is somewhere else: `python3 -I split-tests.py FILE MODULE RUNNER`, a socket to the host on descriptor 3.

The solution's module is one that asks for everything. RUNNER is `auto`: pytest where there is one, otherwise unittest; or
`unittest`. See guest/runners/README.md.
"""

import importlib
import importlib.machinery
import importlib.util
import os
import sys

PARTS = [
    *["split-tests/split-%s" % part for part in ("wire", "names", "kinds", "arrays", "values", "objects", "side", "classes", "errors", "async", "mixed", "serve", "guard")],
    *["tests/tests-%s" % part for part in ("report", "asserts", "unittest", "pytest")],
]
for part in PARTS:
    with open("%s/%s.py" % (os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0]))), part), "rb") as source:
        exec(compile(source.read(), source.name, "exec"))


class Finder:
    """Finds the solution's module, and no other."""

    def find_spec(self, name, path=None, target=None):
        return importlib.machinery.ModuleSpec(name, self) if name == MODULE else None

    def create_module(self, spec):
        module = RemoteModule(spec.name)
        module._skerry_own = Own(1)
        return module

    def exec_module(self, module):
        pass


def leave(status):
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass
    os._exit(status)


def broken(why):
    """The solution's side does not keep to the protocol: its word is worth nothing any more."""
    SIDE.link.tell({"type": "violation", "what": why[:200]})
    os._exit(1)


path, MODULE, runner = sys.argv[1:]
SOLUTION = None
sys.argv = [path]
sys.path.insert(0, os.path.dirname(path))
sys.dont_write_bytecode = True
SIDE = Side(Tests(os.path.dirname(path)), False)
SIDE.link = Link(3, SIDE.serve, SIDE.refuse, broken, lambda: os._exit(1), 2)
SIDE.link.start()
report = Report(SIDE.link.tell)
has_pytest = runner == "auto" and importlib.util.find_spec("pytest") is not None
if has_pytest:
    importlib.import_module("pytest")
if MODULE in sys.modules:
    report.broken(os.path.basename(path), RuntimeError(
        "the solution is called %s, like a module of Python's own that runs the tests: give it another name" % MODULE
    ), "")
else:
    sys.meta_path.insert(0, Finder())
    (run_pytest if has_pytest else run_unittest)(path, report)
report.end()
leave(1 if report.has_failed or report.count == 0 else 0)

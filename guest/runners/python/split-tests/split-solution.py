"""Runs a solution for tests that are somewhere else: `python3 split-solution.py FILE MODULE`, a socket to the host on descriptor 3.

It loads the file as the module of that name, says so, and does with it what the tests ask for. See guest/runners/README.md.
"""

import importlib
import importlib.util
import os
import sys

for part in ("wire", "names", "kinds", "arrays", "values", "objects", "side", "classes", "errors", "async", "serve", "open"):
    with open("%s/split-%s.py" % (os.path.dirname(os.path.abspath(sys.argv[0])), part), "rb") as source:
        exec(compile(source.read(), source.name, "exec"))


def leave(status=0):
    flush_all()
    os._exit(status)


def load(path, name):
    """The solution's module. Whatever keeps it from loading is told, and ends everything."""
    try:
        with open(path, "rb") as source:
            compile(source.read(), path, "exec")
    except (SyntaxError, ValueError) as error:
        fail("syntax", error)
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        fail("error", error)
    return sys.modules[name]


def fail(kind, error):
    SIDE.link.tell({
        "type": "failed",
        "kind": kind,
        "message": cut("%s: %s" % (type(error).__name__, text_of(error))),
        "traceback": traceback_text(error),
    })
    leave(1)


path, name = sys.argv[1:]
sys.argv = [path]
sys.path[0] = os.path.dirname(path)
sys.dont_write_bytecode = True
SIDE = Side(Solution(), True)
SIDE.link = Link(3, SIDE.serve, SIDE.refuse, lambda why: leave(1), leave, 1)
sys.stdout, sys.stderr, sys.stdin = Printed("stdout", sys.stdout), Printed("stderr", sys.stderr), Typed()
sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr
builtins.input = ask_input
SIDE.number(load(path, name))
SIDE.link.tell({"type": "loaded"})
SIDE.link.start()
SIDE.link.listen()

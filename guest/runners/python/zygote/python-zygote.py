"""A started Python that runs each job in a fork of itself, exactly as `python3 file args` would.

Control messages are datagrams on descriptor 3 (see guest/runners/README.md). The parent never
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

Its parts lie beside it, as `zygote-*.py`, and share one namespace. They are compiled one by one: Python keeps the syntax
tree of the file that it was started with until that has ended, and every child would have to free it first.
"""

import sys

BASELINE = list(sys.modules)  # what a plain run has loaded before its first line
BASE_PATH = sys.path[1:]
__name__ = "_skerry_zygote"  # also of classes and functions made here: none of them stands in a program's __main__

for part in ("settings", "modules", "fit", "become", "ending", "native", "cell", "program", "parent", "ready"):
    with open("%s/zygote-%s.py" % (sys.argv[0].rpartition("/")[0] or ".", part), "rb") as source:
        exec(compile(source.read(), source.name, "exec"))

# Here, where a program's own first line would be.
(lambda _: PLAIN_DEPTH.extend(native.depth()))(None)
gc.collect()
gc.freeze()
zygote.run()

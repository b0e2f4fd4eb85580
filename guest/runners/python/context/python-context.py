"""A Python that keeps its state between pieces of code, as a notebook does.

Descriptor 3 is a socket to the host (see guest/runners/README.md): each message is a length (32 bits, little-endian) and
JSON. What the code prints goes to its standard output and error as ever. Its parts lie beside it, as `context-*.py`, and
share one namespace that is not the code's `__main__`: it has builtins of its own, so that code may put others in their
place. `magics` and `ipython-display.py` are read when code asks for what they do.
"""

import builtins
import sys

DIRECTORY = sys.argv[0].rpartition("/")[0] or "."
PARTS = {"__name__": "_skerry_context", "__builtins__": dict(vars(builtins)), "sys": sys, "builtins": builtins, "DIRECTORY": DIRECTORY}

for part in ("wire", "values", "figures", "code", "notebook", "loop", "input", "copies", "serve"):
    with open("%s/context-%s.py" % (DIRECTORY, part), "rb") as source:
        exec(compile(source.read(), source.name, "exec"), PARTS)

PARTS["serve"]()

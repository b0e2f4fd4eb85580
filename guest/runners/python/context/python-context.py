"""A Python that keeps its state between pieces of code, as a notebook does.

Descriptor 3 is a socket to the host (see guest/runners/README.md): each message is a length (32 bits, little-endian) and
JSON. What the code prints goes to its standard output and error as ever. Its parts lie beside it, as `context-*.py`, and
share one namespace that is not the code's `__main__`.
"""

import sys

for part in ("wire", "values", "figures", "code", "copies", "serve"):
    with open("%s/context-%s.py" % (sys.argv[0].rpartition("/")[0] or ".", part), "rb") as source:
        exec(compile(source.read(), source.name, "exec"))

serve()

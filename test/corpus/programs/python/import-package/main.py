import pkg, pkg.a
from pkg.b import name as n
import importlib
print(pkg.a.value, n, pkg.__path__ == [__file__.replace("main.py", "pkg")], importlib.import_module("pkg.c").__name__)

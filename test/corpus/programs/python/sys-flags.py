import sys
print(sys.flags, sys.warnoptions, sys._xoptions, sys.executable, sys.prefix, sys._base_executable, sys.exec_prefix, sys.base_prefix)
print(sys.getrecursionlimit(), sys.getswitchinterval(), sys.dont_write_bytecode, sys.pycache_prefix, sys.platlibdir)
print(sys.meta_path, sys.path_hooks)
print([n for n in dir(sys) if not n.startswith("__")])

import sys, os, other
print(sys.dont_write_bytecode, sys.flags.dont_write_bytecode, os.path.exists("__pycache__"), other.X)

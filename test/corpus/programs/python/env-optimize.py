import sys
assert False, "not reached with -O"
print(__debug__, sys.flags.optimize)

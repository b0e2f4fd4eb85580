import sys
print(sys.argv, sys.orig_argv[1:], len(sys.orig_argv))

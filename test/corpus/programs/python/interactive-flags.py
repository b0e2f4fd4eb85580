import sys, code
print(sys.flags.interactive, sys.flags.inspect, hasattr(sys, "ps1"), sys.stdin.isatty())

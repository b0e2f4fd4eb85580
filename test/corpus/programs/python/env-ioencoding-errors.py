import sys
print("\udce9 ok", sys.stdout.encoding, sys.stdout.errors, sys.stdin.errors)

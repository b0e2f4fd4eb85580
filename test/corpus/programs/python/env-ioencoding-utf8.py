import sys
print("é", sys.stdout.encoding, sys.stdout.errors, sys.stdin.errors, sys.stderr.errors)

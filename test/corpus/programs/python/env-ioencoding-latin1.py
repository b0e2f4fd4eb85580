import sys
print("é", sys.stdout.encoding, sys.stdout.errors, sys.stderr.encoding)

import os, sys
print(os.environ.get("LC_CTYPE"), sys.stdout.encoding, sys.stdout.errors, sys.flags.utf8_mode)
print("é")

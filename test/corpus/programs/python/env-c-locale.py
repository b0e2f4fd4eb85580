import os, sys
print(os.environ.get("LC_CTYPE"), os.environ.get("LANG"), sys.stdout.encoding, sys.stdout.errors, sys.flags.utf8_mode)
print("é")

import os, sys, locale
print(sorted(os.environ), os.environ.get("LC_CTYPE"))
print(sys.stdout.encoding, sys.stdout.errors, sys.stdin.errors, sys.stderr.errors, sys.flags.utf8_mode)
print(locale.getpreferredencoding(False), sys.getfilesystemencoding(), sys.getfilesystemencodeerrors())
print(locale.setlocale(locale.LC_ALL))

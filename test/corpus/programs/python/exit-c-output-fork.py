import ctypes
import os
import sys

libc = ctypes.CDLL(None)
pid = os.fork()
libc.printf(b"%s\n", b"parent" if pid else b"child")
if pid == 0:
    sys.exit(5)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

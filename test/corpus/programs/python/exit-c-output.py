# What a C library printed is in a buffer of libc, which is written when the process exits.
import ctypes

libc = ctypes.CDLL(None)
libc.printf(b"from C, %d\n", 42)
print("from Python")

import ctypes
import sys

ctypes.CDLL(None).printf(b"from C\n")
sys.exit(3)

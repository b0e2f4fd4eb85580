import atexit
import ctypes

atexit.register(lambda: ctypes.CDLL(None).printf(b"from C, at exit\n"))
raise ValueError("after it")

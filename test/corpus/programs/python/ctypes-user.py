import ctypes, sys
libc = ctypes.CDLL(None)
print(libc.abs(-3), ctypes.sizeof(ctypes.c_void_p), ctypes.pythonapi.Py_IsInitialized(), libc.fopen.restype is ctypes.c_int, ctypes.pythonapi.Py_Exit.argtypes)

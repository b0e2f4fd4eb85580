# Handlers of libc run after everything of Python's, the last one first; a thread that waits for ever does not matter.
import atexit
import ctypes
import os
import threading

libc = ctypes.CDLL(None)
libc.on_exit.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
for line in (b"registered first", b"registered last"):
    libc.on_exit(ctypes.cast(libc.perror, ctypes.c_void_p), ctypes.c_char_p(line))
atexit.register(print, "Python's handler")


class Late:
    def __del__(self):
        os.write(1, b"late\n")


late = Late()
read, write = os.pipe()
threading.Thread(target=os.read, args=(read, 1), daemon=True).start()
print("end of the program")

import sys, threading
print(list(sys.modules))
print("ctypes" in sys.modules, "_ctypes" in sys.modules, "numpy" in sys.modules)

import atexit
atexit.register(print, "atexit ran")
print("before")
raise KeyboardInterrupt

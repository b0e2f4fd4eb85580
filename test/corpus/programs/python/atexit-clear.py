import atexit
atexit.register(print, "cleared away")
atexit._clear()
print("bye")
raise SystemExit(3)

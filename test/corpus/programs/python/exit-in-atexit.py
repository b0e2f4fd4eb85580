import atexit, sys
def bad():
    print("in handler")
    sys.exit(5)
atexit.register(print, "first registered, last run")
atexit.register(bad)

import sys, atexit
def look():
    print(sys.last_type.__name__, sys.last_value, sys.last_traceback.tb_lineno)
atexit.register(look)
raise KeyError("k")

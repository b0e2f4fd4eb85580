import builtins, sys, gc
print(sorted(dir(builtins)))
print(__import__, open, sys.excepthook, sys.displayhook, sys.unraisablehook, gc.isenabled(), gc.get_threshold(), gc.callbacks)
print(sys.gettrace(), sys.getprofile(), hasattr(sys, "last_value"), sys.exc_info())

import faulthandler, sys
print(faulthandler.is_enabled())
def f(): faulthandler.dump_traceback(sys.stderr, all_threads=False)
f()

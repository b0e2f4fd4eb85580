import sys, traceback, inspect
f = sys._getframe()
print(f.f_back, f.f_code.co_name, len(inspect.stack()))
traceback.print_stack()
def g():
    traceback.print_stack(file=sys.stdout)
g()

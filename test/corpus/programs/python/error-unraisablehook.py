import sys
def hook(u):
    print("unraisable", type(u.exc_value).__name__, u.err_msg, file=sys.stderr)
sys.unraisablehook = hook
class A:
    def __del__(self):
        1 / 0
A()
print("ok")

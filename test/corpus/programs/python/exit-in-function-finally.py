import sys
def f():
    try:
        sys.exit(2)
    finally:
        print("finally")
class D:
    def __del__(self): print("local deleted")
def g():
    d = D()
    f()
g()

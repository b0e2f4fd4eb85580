import atexit
@atexit.register
def one():
    print("one")
@atexit.register
def two():
    raise RuntimeError("in atexit")
@atexit.register
def three():
    print("three")

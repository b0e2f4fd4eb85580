import atexit, sys, traceback
@atexit.register
def stack():
    traceback.print_stack(file=sys.stdout)
    print(sys._getframe().f_back)

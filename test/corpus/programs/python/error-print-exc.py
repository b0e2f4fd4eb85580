import traceback, sys, linecache
def deep(n):
    if n == 0:
        raise ValueError("deep")
    deep(n - 1)
try:
    deep(3)
except ValueError:
    traceback.print_exc()
    print(traceback.format_exc())
    print(len(traceback.extract_tb(sys.exc_info()[2])))
print(repr(linecache.getline(__file__, 1)))

depth = 0
def f():
    global depth
    depth += 1
    f()
try:
    f()
except RecursionError as e:
    print(depth, e)
def g(n):
    return g(n + 1)
g(0)

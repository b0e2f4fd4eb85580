def g():
    try:
        yield 1
    finally:
        print("generator closed")
x = g()
print(next(x))
def h():
    try:
        yield 1
    except GeneratorExit:
        yield 2
y = h()
next(y)
del y

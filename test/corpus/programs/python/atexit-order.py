import atexit
for n in range(3):
    atexit.register(print, "handler", n)
@atexit.register
def nested():
    atexit.register(print, "registered late")
print(atexit._ncallbacks() >= 4)
def gone(): print("unregistered")
atexit.register(gone)
atexit.unregister(gone)

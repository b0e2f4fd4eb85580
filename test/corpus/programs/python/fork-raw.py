import os, sys, atexit
atexit.register(lambda: print("atexit in", "child" if child else "parent", flush=True))
child = False
print("before", flush=True)
pid = os.fork()
if pid == 0:
    child = True
    sys.exit(4)
_, status = os.waitpid(pid, 0)
print(os.waitstatus_to_exitcode(status), os.getppid() > 0)

import signal, os, sys
def h(n, f): print("term", n); sys.exit(0)
signal.signal(signal.SIGTERM, h)
os.kill(os.getpid(), signal.SIGTERM)

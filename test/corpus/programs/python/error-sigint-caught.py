import os, signal
try:
    os.kill(os.getpid(), signal.SIGINT)
    for i in range(10**7): pass
except KeyboardInterrupt:
    print("caught")

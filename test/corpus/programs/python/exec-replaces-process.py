import os, sys
print("before exec", flush=True)
os.execv(sys.executable, [sys.executable, "-c", "import signal,sys; print('after exec', sys.argv, signal.getsignal(signal.SIGPIPE), signal.getsignal(signal.SIGCHLD))"])

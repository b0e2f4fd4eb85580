import signal, time
def ring(n, f): raise TimeoutError("ring")
signal.signal(signal.SIGALRM, ring)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try: time.sleep(5)
except TimeoutError as e: print(e)

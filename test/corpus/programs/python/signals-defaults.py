import signal
for s in sorted(signal.valid_signals()):
    h = signal.getsignal(s)
    if h is not signal.SIG_DFL: print(s, h)
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.set_wakeup_fd(-1), signal.getitimer(signal.ITIMER_REAL))

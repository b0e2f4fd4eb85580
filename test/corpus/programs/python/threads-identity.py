import threading, _thread, signal
m = threading.main_thread()
print(m.name, type(m).__name__, threading.get_ident() == m.ident, _thread.get_ident() == m.ident, m.native_id == __import__("os").getpid(), threading.enumerate() == [m], m.daemon)
signal.signal(signal.SIGUSR1, lambda *a: print("usr1"))
signal.raise_signal(signal.SIGUSR1)

import contextlib
@contextlib.contextmanager
def cm():
    print("enter")
    try: yield
    finally: print("leave")
with cm(), contextlib.ExitStack() as s:
    s.callback(print, "callback")
    raise SystemExit("stopped")

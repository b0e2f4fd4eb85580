import sys
def hook(t, v, tb):
    raise RuntimeError("hook failed")
sys.excepthook = hook
raise LookupError("original")

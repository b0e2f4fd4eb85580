import sys
def hook(t, v, tb):
    print("hook:", t.__name__, v, tb.tb_lineno, tb.tb_next, file=sys.stderr)
sys.excepthook = hook
raise LookupError("custom")

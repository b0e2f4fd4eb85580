import atexit, sys
def handler():
    try:
        sys.exit(99)
    except SystemExit as e:
        print("inner", e.code)
atexit.register(handler)
sys.exit(3)

import atexit
@atexit.register
def late():
    import json, string, sys
    print(json.dumps({"late": string.digits}), sorted(sys.modules) == sorted(sys.modules), "os" in sys.modules)

import sys
try:
    sys.exit(3)
except SystemExit as e:
    print("caught", e.code, e.args, repr(e), SystemExit(9).code, SystemExit().code, SystemExit(1, 2).code)
    e.code = 4
    print(e.code)
    del e.code
    print(e.code)
class Mine(SystemExit):
    pass
raise Mine(6)

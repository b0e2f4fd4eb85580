import sys, os
print(sys.stdout.write_through, sys.stdout.line_buffering, type(sys.stdout.buffer).__name__, type(sys.stdin.buffer).__name__, sys.flags)
print("a", end="")
os.write(1, b"b")
print("c")
os._exit(0)

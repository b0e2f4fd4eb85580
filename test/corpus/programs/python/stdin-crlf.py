import sys
sys.stdout.write(repr(sys.stdin.read()) + "\n")

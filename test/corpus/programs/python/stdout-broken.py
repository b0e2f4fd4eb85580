import sys
print("nobody reads this")
sys.stderr.write("before the end\n")

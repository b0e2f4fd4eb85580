import sys, os
print("gone")
sys.stdout.close()
sys.stderr.write("closed\n")

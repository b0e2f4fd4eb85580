import sys, os
text = sys.stdin.readline()
print(ascii(text))
sys.stdout.flush()
os.write(1, os.fsencode(text))

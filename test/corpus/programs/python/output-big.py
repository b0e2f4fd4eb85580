import sys
for i in range(20000):
    print(i, "x" * 40)
sys.stderr.write("e" * 100000)

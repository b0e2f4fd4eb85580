import sys, random
print(random.MINE, sys.path[1:2] != [])

import sys
print("nobody reads this")
sys.exit(3)

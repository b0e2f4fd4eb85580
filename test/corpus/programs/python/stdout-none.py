import sys
sys.stdout = None
print("nothing")
raise ValueError("still reported")

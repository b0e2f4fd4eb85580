import json, sys, random, decimal
print(list(sys.modules))

import sys
open("decimal.py", "w").write("WHO = 'made at run time'\n")
import decimal
print(decimal.WHO)

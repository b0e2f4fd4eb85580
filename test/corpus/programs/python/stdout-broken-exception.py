import os
print("x" * 100000)

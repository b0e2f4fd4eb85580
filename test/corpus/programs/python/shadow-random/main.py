import random, tempfile
print(random.WHO)

import sys
sys.path.insert(0, "lib")
import uuid
print(uuid.WHO)

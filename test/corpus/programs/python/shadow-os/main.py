import os
print(hasattr(os, "WHO"), os.getcwd() != "")

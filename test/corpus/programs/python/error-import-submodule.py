import os.nothing

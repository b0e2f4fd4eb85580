"""The first program: ./skerry run examples/hello.py"""

import os
import platform

print(f"Hello from Python {platform.python_version()}, in a sandbox as user {os.getuid()}.")
print("Working in", os.getcwd())

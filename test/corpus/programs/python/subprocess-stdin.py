import subprocess, sys
print("first:", sys.stdin.readline(), end="", flush=True)
subprocess.run(["cat"])

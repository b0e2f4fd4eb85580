import subprocess
print(subprocess.run("yes | head -1", shell=True, capture_output=True))
print(subprocess.run(["sh", "-c", "trap"], capture_output=True))
p = subprocess.Popen(["sleep", "30"]); p.terminate(); print(p.wait())

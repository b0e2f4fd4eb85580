import subprocess, sys
print(subprocess.run(["echo", "hi"], capture_output=True, text=True))
print(subprocess.run([sys.executable, "-c", "import sys; print(sys.argv, len(sys.modules) > 5); sys.exit(3)", "x"]).returncode)
print(subprocess.run("cat; echo err >&2; exit 2", shell=True, input=b"piped\n").returncode)
print(subprocess.check_output("ls /proc/self/fd | wc -l", shell=True, text=True))

import os
print(sorted(k for k in os.environ), os.environ["GREETING"], os.getenv("MISSING"))
os.environ["NEW"] = "1"
os.system("echo $GREETING $NEW; env | cut -d= -f1 | grep -v '^_' | grep -v PWD | grep -v SHLVL | sort")
import posix
print(posix.environ[b"GREETING"])

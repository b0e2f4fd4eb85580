import sys, os
name = os.fsdecode(b"\xff\xfe")
print(ascii(name), os.fsencode(name))
open(name, "w").close()
print([ascii(n) for n in sorted(os.listdir("."))])
print(name)

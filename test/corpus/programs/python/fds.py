import os
fds = sorted(int(f) for f in os.listdir("/proc/self/fd"))
print(len(fds), fds[:3], [os.get_inheritable(f) for f in (0, 1, 2)])
f = open("/dev/null")
print(f.fileno())

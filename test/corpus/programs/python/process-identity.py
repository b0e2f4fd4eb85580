import os
print(os.getpid() == os.getpgid(0) == os.getsid(0), os.getcwd() == os.path.dirname(__file__), oct(os.umask(0o22)), os.nice(0))
import resource
print(resource.getrlimit(resource.RLIMIT_CORE) is not None, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 1000, open("/proc/self/comm").read())

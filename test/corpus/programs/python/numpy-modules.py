import numpy, sys
for name in sorted(sys.modules): print(name)

import numpy
print(numpy.WHO, numpy.__path__ is not None)

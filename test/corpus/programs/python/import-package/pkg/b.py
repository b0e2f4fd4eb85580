name = __name__

import inspect
def documented():
    """Says so."""
    return 1  # a comment
class K:
    def m(self): pass
print(inspect.getsource(documented), inspect.getsource(K.m), inspect.getfile(K) == __file__, inspect.getmodule(documented).__name__)

"""Doc of main."""
import sys, types
import __main__
x: int = 3
print(__main__ is sys.modules["__main__"], type(__main__) is types.ModuleType, __main__.x, __doc__, __annotations__)
print(list(vars(__main__))[:9], list(locals()) == list(globals()))
if __name__ == "__main__":
    print("main guard", repr(__main__).replace(__file__, "FILE"))

# Nothing but this program stands in __main__: no class, function or module of whoever started it.
import gc
import os
import pickle
import sys
import types


class Own:
    pass


def everything(cls, seen):
    for each in type.__subclasses__(cls):
        if each not in seen:
            seen.add(each)
            everything(each, seen)
    return seen


print(sorted(each.__qualname__ for each in everything(object, set()) if each.__module__ == "__main__"))
for kind in (types.FunctionType, types.ModuleType, type):
    named = [each for each in gc.get_objects() if isinstance(each, kind)]
    print(kind.__name__, sorted(each.__qualname__ for each in named if getattr(each, "__module__", "") == "__main__" and hasattr(each, "__qualname__")))
print([each is sys.modules["__main__"] for each in gc.get_objects() if isinstance(each, types.ModuleType) and each.__name__ == "__main__"])
print(dir(), [name for name in vars(sys) if "skerry" in name.lower()], sys.path[0] == os.path.dirname(__file__), sys.argv == [__file__])
print(pickle.loads(pickle.dumps(Own())).__class__ is Own)
for name in ("Zygote", "Exit", "Leave", "Native", "Cell", "LookAlike", "native", "zygote", "Warm"):
    try:
        pickle.loads(("c__main__\n%s\n." % name).encode())
    except AttributeError as error:
        print(error)

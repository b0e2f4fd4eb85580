try:
    import no_such_module_here
except ImportError as e:
    print(type(e).__name__, e, e.name, e.path)
from json import no_such_name

def load():
    try:
        {}["missing"]
    except KeyError as e:
        raise RuntimeError("cannot load") from e
try:
    load()
except RuntimeError:
    int("x")

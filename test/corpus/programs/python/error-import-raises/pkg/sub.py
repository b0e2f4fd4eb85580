def fail():
    raise ImportError("no luck")
fail()

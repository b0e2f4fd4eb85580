print(sorted(globals()))
print(__name__, __doc__, __package__, __spec__, type(__loader__).__name__, __builtins__.__name__, __cached__)
print(__file__.endswith("/main.py"), globals().get("__annotations__"))

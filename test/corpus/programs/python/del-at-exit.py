import sys
class D:
    def __init__(self, name): self.name = name
    def __del__(self): print("del", self.name, sys is not None)
a = D("a")
b = D("b")
c = [D("in list")]
def f(): return a
_private = D("private")

import sys, builtins
class D:
    def __init__(self, n): self.n = n
    def __del__(self): print("del", self.n)
sys.mine = D("on sys")
builtins.mine = D("on builtins")

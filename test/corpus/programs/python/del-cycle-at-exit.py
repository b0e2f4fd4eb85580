class N:
    def __init__(self, n): self.n, self.peer = n, None
    def __del__(self): print("collected", self.n)
x, y = N(1), N(2)
x.peer, y.peer = y, x

import os
class D:
    def __init__(self, n): self.n = n
    def __del__(self):
        os.write(2, ("del %s\n" % self.n).encode())
def helper(): return first
first, second, third = D(1), D(2), D(3)
class Holder: item = D("class attribute")
holder = Holder()

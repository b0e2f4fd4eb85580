class D:
    def __init__(self, name): self.name = name
    def __del__(self): print("module object deleted", self.name)
keep = D("other")
def use(): return keep

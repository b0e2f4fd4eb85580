l = []
l.append(l)
print(l)
class R:
    def __repr__(self):
        return "R" + repr(self)
repr(R())

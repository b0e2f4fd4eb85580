import pickle, copy, dataclasses
@dataclasses.dataclass
class P:
    x: int
    y: list = dataclasses.field(default_factory=list)
p = pickle.loads(pickle.dumps(P(1, [2])))
print(p, P.__module__, type(p) is P, pickle.dumps(P, 0))
def f(): pass
print(pickle.loads(pickle.dumps(f)) is f, copy.deepcopy(P(3)))

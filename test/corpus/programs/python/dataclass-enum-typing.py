import enum, typing, dataclasses, functools, collections
class Color(enum.Enum): RED = 1; BLUE = 2
@dataclasses.dataclass(order=True)
class P: x: int; c: Color = Color.RED
T = typing.TypeVar("T")
class G(typing.Generic[T]): pass
print(P(1), Color["BLUE"], Color.__module__, G[int], collections.namedtuple("N", "a b")(1, 2))
@functools.lru_cache
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(80), fib.cache_info())

import multiprocessing as mp, sys
print("module level", __name__)
class Point:
    def __init__(self, x): self.x = x
def child(conn, p):
    conn.send((type(p).__module__, p.x, __name__, sys.argv[1:]))
    print("child prints")
if __name__ == "__main__":
    ctx = mp.get_context("spawn")
    a, b = ctx.Pipe()
    p = ctx.Process(target=child, args=(b, Point(5)))
    p.start()
    print(a.recv()); p.join()
    print(p.exitcode)

import multiprocessing as mp, os
class Point:
    def __init__(self, x): self.x = x
    def __eq__(self, o): return self.x == o.x
def child(q, p):
    q.put((Point(p.x + 1), mp.current_process().name))
if __name__ == "__main__":
    print(mp.get_start_method())
    ctx = mp.get_context("fork")
    q = ctx.Queue()
    p = ctx.Process(target=child, args=(q, Point(1)))
    p.start()
    got, name = q.get(); p.join()
    print(got == Point(2), name, p.exitcode)

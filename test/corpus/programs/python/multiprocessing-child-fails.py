import multiprocessing as mp, sys
def child():
    sys.exit(3)
def crash():
    raise RuntimeError("child failed")
if __name__ == "__main__":
    for f in (child, crash):
        p = mp.Process(target=f); p.start(); p.join(); print(p.exitcode)

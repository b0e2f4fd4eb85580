import multiprocessing as mp
def double(x): return x * 2
if __name__ == "__main__":
    ctx = mp.get_context("forkserver")
    with ctx.Pool(2) as pool:
        print(pool.map(double, range(5)))

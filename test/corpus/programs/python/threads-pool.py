from concurrent.futures import ThreadPoolExecutor, ProcessPoolExecutor
import atexit
def square(x): return x * x
if __name__ == "__main__":
    with ThreadPoolExecutor(4) as p: print(list(p.map(square, range(8))))
    with ProcessPoolExecutor(2) as p: print(list(p.map(square, range(8))))
    pool = ThreadPoolExecutor(2)
    pool.submit(lambda: print("left running at exit"))

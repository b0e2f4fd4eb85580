from multiprocessing import Pool, Manager, Value
def work(x):
    if x == 3: raise ValueError("three")
    return x * 10
if __name__ == "__main__":
    with Pool(2) as pool:
        print(pool.map(work, [1, 2]))
        try: pool.map(work, [3])
        except ValueError as e: print("remote", e)
    v = Value("i", 5)
    print(v.value)

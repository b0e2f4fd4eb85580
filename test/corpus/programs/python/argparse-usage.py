import argparse
p = argparse.ArgumentParser(description="demo")
p.add_argument("--n", type=int)
print(p.parse_args().n)

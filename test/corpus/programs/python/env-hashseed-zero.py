import sys
print(hash("a"), hash("hello"), hash(b"x"), sys.flags.hash_randomization, list({"a", "b", "c", "d"}))

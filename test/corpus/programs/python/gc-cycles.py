import gc
gc.collect()
class C: pass
for _ in range(5):
    c = C(); c.me = c
del c
print(gc.collect() >= 5, gc.garbage, gc.isenabled())

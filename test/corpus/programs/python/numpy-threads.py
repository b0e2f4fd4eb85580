import numpy as np, threading
out = []
def work():
    a = np.ones((300, 300)); out.append(float((a @ a).sum()))
ts = [threading.Thread(target=work) for _ in range(3)]
[t.start() for t in ts]; [t.join() for t in ts]
print(out)

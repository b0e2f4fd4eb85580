import threading, queue
q = queue.Queue()
total = []
lock = threading.Lock()
def consumer():
    while True:
        item = q.get()
        if item is None: break
        with lock: total.append(item)
ts = [threading.Thread(target=consumer) for _ in range(4)]
[t.start() for t in ts]
[q.put(i) for i in range(1000)]
[q.put(None) for _ in ts]
[t.join() for t in ts]
print(sum(total), len(total))

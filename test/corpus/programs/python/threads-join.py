import threading, time
def work(n):
    time.sleep(0.3 + 0.15 * n)
    print("worker", n, threading.current_thread().name)
for n in range(4):
    threading.Thread(target=work, args=(n,)).start()
print("main ends first", threading.main_thread().name, threading.current_thread() is threading.main_thread(), threading.active_count())

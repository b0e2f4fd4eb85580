import threading
def work():
    raise ValueError("in thread")
t = threading.Thread(target=work, name="worker")
t.start(); t.join()
print("main survives")

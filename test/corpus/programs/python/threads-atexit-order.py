import threading, atexit, time
atexit.register(print, "atexit after threads")
def work():
    time.sleep(0.05); print("thread done")
threading.Thread(target=work).start()
print("main done")

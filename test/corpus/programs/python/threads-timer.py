import threading
print("waiting")
threading.Timer(0.05, lambda: print("timer fired")).start()

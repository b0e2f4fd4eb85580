import threading, time
def forever():
    while True: time.sleep(0.01)
t = threading.Thread(target=forever, daemon=True)
t.start()
print(t.daemon, t.is_alive())

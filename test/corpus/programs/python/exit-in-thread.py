import sys, threading
def work():
    print("thread exits")
    sys.exit(4)
t = threading.Thread(target=work)
t.start(); t.join()
print("main goes on")

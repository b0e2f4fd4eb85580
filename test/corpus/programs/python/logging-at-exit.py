import logging, sys, atexit, logging.handlers
logging.basicConfig(level=logging.INFO, format="%(levelname)s:%(name)s:%(funcName)s:%(lineno)d:%(threadName)s:%(processName)s:%(message)s")
def f(): logging.getLogger("x").warning("careful")
f()
m = logging.handlers.MemoryHandler(100, target=logging.StreamHandler(sys.stdout))
logging.getLogger("mem").addHandler(m)
logging.getLogger("mem").info("flushed by logging.shutdown")
atexit.register(lambda: logging.info("in atexit"))
logging.getLogger("y").debug("hidden")

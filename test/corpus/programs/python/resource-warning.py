import warnings
warnings.simplefilter("always")
def f(): open("/dev/null")
f()
keep = open("/dev/null")

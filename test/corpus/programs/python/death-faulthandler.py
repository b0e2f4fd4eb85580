import faulthandler, sys
faulthandler.enable()
def deep(): faulthandler._sigabrt()
deep()

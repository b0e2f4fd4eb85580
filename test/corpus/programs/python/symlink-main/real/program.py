import sys, helper
print(helper.VALUE, sys.path[0].endswith("/real"), __file__.endswith("/main.py"))

import sys, helper_from_path
print(helper_from_path.VALUE, sys.path)

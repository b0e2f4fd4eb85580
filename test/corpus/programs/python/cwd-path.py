import os, sys
print(os.getcwd() == os.path.dirname(os.path.abspath(__file__)), sys.path[0] == os.getcwd(), os.environ.get("PWD"))
print(sys.path[1:], os.listdir("."))

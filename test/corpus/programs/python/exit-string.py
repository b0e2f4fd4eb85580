import sys
sys.exit("fatal: é went wrong")

import importlib, json, sys
old = json.dumps
json.dumps = None
importlib.reload(json)
print(json.dumps is not None, json.dumps is old)
del sys.modules["json"]
import json as again
print(again is json, again.dumps([1]))

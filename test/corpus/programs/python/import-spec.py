import json, importlib.util, sys
print(json.__spec__.name, json.__spec__.origin == json.__file__, json.__loader__.name, json.__name__, json.__package__, json.__spec__.submodule_search_locations)
print(importlib.util.find_spec("json").origin == json.__file__, importlib.util.find_spec("nope"))
import json.tool
print(json.tool.__name__)

import json, sys
print(json.MINE, json.__file__.endswith("workspace/json.py"))
import logging.config

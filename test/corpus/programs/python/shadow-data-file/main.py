import json, random
print(json.load(open("json.txt")), sorted(__import__("os").listdir(".")))

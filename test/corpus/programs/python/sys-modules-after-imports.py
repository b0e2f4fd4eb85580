import json, sys, logging, subprocess, asyncio
print(sorted(sys.modules))

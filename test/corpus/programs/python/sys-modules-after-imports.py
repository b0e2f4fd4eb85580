import json, sys, logging, subprocess, asyncio
for name in sorted(sys.modules): print(name)

import site, sys, os
print(site.ENABLE_USER_SITE, site.USER_BASE == os.path.expanduser("~/.local"), site.getusersitepackages() in sys.path, site.getsitepackages(), site.USER_SITE.startswith(os.environ["HOME"]))

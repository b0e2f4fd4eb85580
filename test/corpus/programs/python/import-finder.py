import sys, importlib.abc, importlib.machinery
class F(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        print("asked for", name)
        if name == "decimal": return importlib.machinery.ModuleSpec(name, self)
    def create_module(self, spec): return None
    def exec_module(self, module): module.WHO = "finder"
sys.meta_path.insert(0, F())
import decimal, colorsys
print(decimal.WHO)

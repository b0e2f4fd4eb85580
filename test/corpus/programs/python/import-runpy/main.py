import runpy, sys
print(runpy.run_path("part.py", run_name="__main__")["x"], sys.argv[0].endswith("main.py"))
runpy.run_module("mod", alter_sys=True)

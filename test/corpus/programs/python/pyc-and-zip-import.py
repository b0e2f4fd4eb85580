import zipfile, sys
with zipfile.ZipFile("lib.zip", "w") as z: z.writestr("zipped.py", "WHO = __file__[-17:]\n")
sys.path.insert(0, "lib.zip")
import zipped
print(zipped.WHO)

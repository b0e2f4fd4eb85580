print("héllo 漢字 🎉 \u200d")
import sys
print(ascii("🎉"), sys.getdefaultencoding(), len("🎉"))
sys.stderr.write("err é \udc80\n")

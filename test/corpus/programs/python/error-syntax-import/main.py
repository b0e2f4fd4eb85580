print("start")
import broken

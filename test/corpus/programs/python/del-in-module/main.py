import other
print("main done", other.keep.name)

x = """never closed
print(1)

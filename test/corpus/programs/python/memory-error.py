try:
    x = bytearray(1 << 60)
except MemoryError as e:
    print("MemoryError", e)
import array
print(len(array.array("d", bytes(8000))))

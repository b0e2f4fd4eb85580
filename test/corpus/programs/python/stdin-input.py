name = input("name? ")
print("hello", name)
try:
    while True:
        print(repr(input()))
except EOFError as e:
    print("EOF", e)

print("this cannot be written")

print("pkg imported once")

print("mod", __name__)

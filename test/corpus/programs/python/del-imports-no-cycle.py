class D:
    def __del__(self):
        import os
        os.write(1, b"imported os\n")
keep = D()

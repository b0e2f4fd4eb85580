class D:
    def __del__(self):
        try:
            import json
            print("imported", json.dumps([1]))
        except BaseException as e:
            print(type(e).__name__, e)
keep = D()
def cycle(): return keep

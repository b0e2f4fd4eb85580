import unittest
class T(unittest.TestCase):
    def test_ok(self): self.assertEqual(1, 1)
    def test_bad(self): self.assertEqual(1, 2)
if __name__ == "__main__":
    import sys, io
    r = unittest.TextTestRunner(stream=io.StringIO()).run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    print(r.testsRun, len(r.failures))
    sys.exit(not r.wasSuccessful())

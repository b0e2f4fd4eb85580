print(exit, quit, copyright.__class__.__name__)
exit(5)

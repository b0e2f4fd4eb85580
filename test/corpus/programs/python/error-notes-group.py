e = ExceptionGroup("several", [ValueError("a"), TypeError("b")])
e.add_note("a note\nof two lines")
raise e

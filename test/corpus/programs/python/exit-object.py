class Thing:
    def __str__(self):
        return "a thing"
raise SystemExit(Thing())

import sys, io
for s in (sys.stdin, sys.stdout, sys.stderr):
    print(repr(s), s.mode, s.name, s.encoding, s.errors, s.newlines, s.line_buffering, s.write_through, s.fileno(), s.isatty(), s.closed)
    print(type(s.buffer).__name__, s.buffer.name, s.buffer.mode, s.buffer.raw.name, s.buffer.raw.mode, s.buffer.raw.closefd, repr(s.buffer), repr(s.buffer.raw))
print(sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__, sys.stderr is sys.__stderr__)

"""The side that has the solution: its objects are open to the tests. What it prints during a call is told with the answer."""

import io
import sys

MAX_PRINTED = 1 << 20


class Solution:
    """The guard of the side that has the solution: it lets everything pass."""

    def __init__(self):
        self.printed = []
        self.size = 0

    def named(self, value):
        if isinstance(value, type) and (BOTH_HAVE.get(value.__name__) is value or value in KIND_NAMES):
            return value.__module__, value.__qualname__
        return error_name(value) if isinstance(value, type) else None

    def find_named(self, module, name):
        return find_standard(module, name)

    def check_tell(self, value):
        pass

    check_call = check_copy = check_tell

    def check_special(self, target, name):
        pass

    def describe(self, cls):
        return describe_class(cls, True)

    def traceback_of(self, error):
        return traceback_text(error)

    def chain_of(self, error):
        return error.__cause__, error.__context__, error.__suppress_context__

    def get(self, target, name):
        return getattr(target, name)

    def set(self, target, name, value):
        setattr(target, name, value)

    def delete(self, target, name):
        delattr(target, name)

    def names(self, target):
        return dir(target)

    def show(self, printed):
        pass

    def shown(self):
        printed, self.printed, self.size = self.printed, [], 0
        flush_all()
        return printed

    def print(self, stream, text):
        if self.size < MAX_PRINTED and SIDE.link is not None:
            self.size += len(text)
            if self.printed and self.printed[-1][0] == stream:
                self.printed[-1][1] += text
            else:
                self.printed.append([stream, text])

    def input(self, prompt):
        raise EOFError

    stdin = input


class Printed(io.TextIOWrapper):
    """Standard output or error, of which the tests hear as well."""

    def __init__(self, name, stream):
        super().__init__(stream.detach(), stream.encoding, stream.errors, line_buffering=stream.line_buffering)
        self.stream_name = "<%s>" % name
        self.told = name

    def write(self, text):
        size = super().write(text)
        SIDE.guard.print(self.told, str.__str__(text))
        return size

    @property
    def name(self):
        return self.stream_name


class Typed(io.TextIOBase):
    """Standard input: what the tests have for theirs."""

    def readable(self):
        return True

    def read(self, size=-1):
        return SIDE.ask("stdin", "read", -1 if size is None else size) if SIDE.link.is_talking else ""

    def readline(self, size=-1):
        return SIDE.ask("stdin", "readline", size) if SIDE.link.is_talking else ""


def ask_input(prompt=""):
    """The input() of programs: asked of the tests, which may have put something in its place."""
    flush_all()
    if not SIDE.link.is_talking:
        raise EOFError("EOF when reading a line")
    return SIDE.ask("input", str(prompt))


def flush_all():
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass

"""Runs one piece of code, and tells of its errors with its own lines only."""

import linecache
import traceback
from _ast import Expr, Expression, PyCF_ALLOW_TOP_LEVEL_AWAIT, PyCF_ONLY_AST

HERE = os.path.dirname(os.path.abspath(sys.argv[0])) + "/"
MAX_TEXT = 1 << 20
LINES = linecache.cache
traceback = Kept(traceback)


class Cell:
    """A piece of code under a name of its own, by which tracebacks find its lines."""

    def __init__(self, code, number):
        self.name = "<cell %s>" % number
        # Python's own idea of a line: not what other alphabets have for one.
        lines = code.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        LINES[self.name] = (len(code), None, [line + "\n" for line in lines], self.name)
        try:
            tree = self.parse(code)
        except SyntaxError as error:
            if not may_be_magic(lines):
                raise
            read_part("magics")
            lines, tree = rewrite_magics(lines, error, self.parse)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], Expr) else None
        self.is_quiet = last is not None and ends_with_semicolon(lines, last)
        self.parts = [self.compile(tree, "exec")]
        if last is not None:
            self.parts.append(self.compile(Expression(last.value), "eval"))
        self.uses_asyncio = "asyncio" in code

    def parse(self, code):
        return compile(code, self.name, "exec", PyCF_ONLY_AST | PyCF_ALLOW_TOP_LEVEL_AWAIT, True)

    def compile(self, tree, mode):
        return compile(tree, self.name, mode, PyCF_ALLOW_TOP_LEVEL_AWAIT, True)

    def run(self, namespace):
        """The value of the last expression; None where there is none."""
        if any(part.co_flags & CO_COROUTINE for part in self.parts):
            return finish(run_awaiting(self.parts, namespace))
        with BorrowedLoop(self.uses_asyncio):
            for part in self.parts:
                value = eval(part, namespace)
        return value


def may_be_magic(lines):
    return any("!" in line or line.lstrip().startswith("%") for line in lines)


def ends_with_semicolon(lines, expression):
    """Whether a `;` follows the last expression, which hides its value."""
    rest = lines[expression.end_lineno - 1].encode("utf-8", "surrogatepass")[expression.end_col_offset :]
    return rest.lstrip().startswith(b";")


def describe(error):
    """An error as the host tells it: name, value, and a traceback without our own frames."""
    try:
        told = traceback.TracebackException.from_exception(error, compact=True)
        hide(told, set())
        text = "".join(told.format())
    except BaseException as second:
        text = "<its traceback fails with %s>" % type(second).__name__
    return {"name": type(error).__name__, "value": cut(text_of(error)), "traceback": cut(text)}


def text_of(value):
    try:
        return str(value)
    except BaseException as second:
        return "<its text fails with %s>" % type(second).__name__


def hide(told, seen):
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    if told.stack is not None:
        told.stack[:] = [frame for frame in told.stack if not frame.filename.startswith(HERE)]
    if not told.stack:
        told.stack = None  # then there is no line that announces it
    for other in (told.__cause__, told.__context__, *(getattr(told, "exceptions", None) or ())):
        hide(other, seen)


def cut(text):
    if len(text) <= MAX_TEXT:
        return text
    half = MAX_TEXT // 2
    return "%s\n… %d characters left out …\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


def exit_code(code):
    """What a shell would see of `sys.exit(code)`."""
    if code is None:
        return 0
    return code & 0xFF if isinstance(code, int) else 1

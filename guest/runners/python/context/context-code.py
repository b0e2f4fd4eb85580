"""Runs one piece of code, and tells of its errors with its own lines only."""

import ast
import linecache
import traceback

HERE = os.path.dirname(os.path.abspath(sys.argv[0])) + "/"
MAX_TEXT = 1 << 20
CO_COROUTINE = 0x80


class Cell:
    """A piece of code under a name of its own, by which tracebacks find its lines."""

    def __init__(self, code, number):
        self.name = "<cell %d>" % number
        # Python's own idea of a line: not what other alphabets have for one.
        lines = [line + "\n" for line in code.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
        linecache.cache[self.name] = (len(code), None, lines, self.name)
        tree = compile(code, self.name, "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        self.body = self.compile(tree, "exec")
        self.last = None if last is None else self.compile(ast.Expression(last.value), "eval")

    def compile(self, tree, mode):
        return compile(tree, self.name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True)

    def run(self, namespace):
        """The value of the last expression; None where there is none."""
        evaluate(self.body, namespace)
        return None if self.last is None else evaluate(self.last, namespace)


class Loop:
    """The event loop that top-level `await` runs in; it stays for the next piece of code."""

    current = None


def evaluate(code, namespace):
    value = eval(code, namespace)
    return finish(value) if code.co_flags & CO_COROUTINE else value


def finish(coroutine):
    """Runs code with `await` to its end."""
    import asyncio

    if Loop.current is None or Loop.current.is_closed():
        Loop.current = asyncio.new_event_loop()
        asyncio.set_event_loop(Loop.current)
    task = Loop.current.create_task(coroutine)
    try:
        return Loop.current.run_until_complete(task)
    except KeyboardInterrupt:
        task.cancel()
        try:
            Loop.current.run_until_complete(task)
        except BaseException:
            pass
        raise


def describe(error):
    """An error as the host tells it: name, value, and a traceback without our own frames."""
    try:
        value = str(error)
    except BaseException as second:
        value = "<its text fails with %s>" % type(second).__name__
    try:
        told = traceback.TracebackException.from_exception(error, compact=True)
        hide(told, set())
        text = "".join(told.format())
    except BaseException as second:
        text = "<its traceback fails with %s>" % type(second).__name__
    return {"name": type(error).__name__, "value": cut(value), "traceback": cut(text)}


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

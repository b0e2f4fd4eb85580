"""Exceptions, both ways: ["X", n, class, arguments, text, traceback, attributes, chain].

Of a class of the standard library they are that class here, of any other an instance of a class that stands in for it. One that
comes back to where it was raised is the very same object. The chain is what it was caused by, and raised while handling.
"""

import traceback

MAX_TEXT = 20_000
MAX_CHAIN = 10
# The solution must not raise these in the test runner. KeyboardInterrupt is real inside of a test only.
NEVER_REAL = (GeneratorExit,)
ATTRIBUTES = (int, str, bool, float, type(None), bytes, list, tuple, dict)
# Frames of these files are left out of tracebacks.
HIDDEN = [os.path.dirname(os.path.dirname(os.path.abspath(sys.argv[0]))) + "/", "<frozen "]


def encode_error(error, encoder, depth=0, links=0):
    own = vars(error).get("_skerry_own") if hasattr(error, "__dict__") else None
    if own is not None:
        return ["P", own.number]
    cls = next(each for each in type(error).__mro__ if BOTH_HAVE.get(each.__name__) is each or each.__module__ != "builtins")
    return [
        "X",
        SIDE.number(error),
        encoder.encode(cls, depth + 1),
        [encode_or_text(each, encoder, depth) for each in error.args[:100]],
        text_of(error),
        SIDE.guard.traceback_of(error),
        [[name, value] for name, value in plain_attributes(error, encoder, depth)],
        encode_chain(SIDE.guard.chain_of(error), encoder, depth, links),
    ]


def encode_chain(chain, encoder, depth, links):
    cause, context, is_silent = chain
    tell = lambda each: None if each is None or links >= MAX_CHAIN else encode_error(each, encoder, depth + 1, links + 1)
    return [tell(cause), tell(None if context is cause else context), is_silent]


def encode_or_text(value, encoder, depth):
    try:
        return encoder.encode(value, depth + 1)
    except Exception:
        return "<%s>" % type(value).__name__


def plain_attributes(error, encoder, depth):
    """What a built-in exception was given besides its arguments; others are asked for theirs."""
    files = [(name, getattr(error, name)) for name in ("filename", "filename2")] if isinstance(error, OSError) else []
    for name, value in [*list(getattr(error, "__dict__", {}).items())[:50], *files]:
        if type(name) is str and not name.startswith("_") and type(value) in ATTRIBUTES:
            yield name[:200], encode_or_text(value, encoder, depth)


def text_of(error):
    try:
        return cut(str(error))
    except BaseException as second:
        return "<its text fails with %s>" % type(second).__name__


def traceback_text(error):
    """An exception's traceback without our own frames."""
    try:
        told = traceback.TracebackException.from_exception(error, compact=True)
        hide_frames(told, set())
        return cut("".join(told.format()))
    except BaseException as second:
        return "<its traceback fails with %s>" % type(second).__name__


def hide_frames(told, seen):
    if told is None or id(told) in seen:
        return
    seen.add(id(told))
    if told.stack is not None:
        told.stack[:] = [frame for frame in told.stack if not frame.filename.startswith(tuple(HIDDEN))]
    for other in (told.__cause__, told.__context__, *(getattr(told, "exceptions", None) or ())):
        hide_frames(other, seen)


def cut(text):
    if len(text) <= MAX_TEXT:
        return text
    half = MAX_TEXT // 2
    return "%s\n… %d characters left out …\n%s" % (text[:half], len(text) - 2 * half, text[-half:])


def decode_error(decoder, message, depth=0):
    if type(message) is list and len(message) == 2 and message[0] == "P":
        error = decoder.decode(message)
        if not isinstance(error, BaseException):
            raise Broken("an exception that is none")
        return error
    if type(message) is not list or len(message) != 8 or message[0] != "X" or type(message[3]) is not list:
        raise Broken("an exception that is none")
    _, number, cls, args, text, trace, attributes, chain = message
    if type(chain) is not list or len(chain) != 3 or type(chain[2]) is not bool or depth > MAX_DEPTH:
        raise Broken("an exception that is none")
    cls = decoder.decode(cls, depth + 1)
    if type(number) is not int or not isinstance(cls, type) or not issubclass(cls, BaseException) or type(attributes) is not list:
        raise Broken("an exception that is none")
    args = [decoder.decode(each, depth + 1) for each in args]
    error = make_error(cls, args)
    error._skerry_own = Own(number, 1)
    error._skerry_text = decoder.text(text)
    error._skerry_traceback = decoder.text(trace)
    for pair in attributes:
        if type(pair) is not list or len(pair) != 2 or decoder.text(pair[0]).startswith("_"):
            raise Broken("an exception that is none")
        try:
            setattr(error, pair[0], decoder.decode(pair[1], depth + 1))
        except (AttributeError, TypeError):
            pass  # some of a built-in exception's own cannot be set
    cause, context = [None if each is None else decode_error(decoder, each, depth + 1) for each in chain[:2]]
    error.__cause__, error.__context__ = cause, cause if context is None else context
    error.__suppress_context__ = chain[2]
    return error


def make_error(cls, args):
    if any(issubclass(cls, each) for each in NEVER_REAL):
        cls = SET_APART[next(each for each in NEVER_REAL if issubclass(cls, each))]
    try:
        error = cls.__new__(cls, *args)
        if cls.__module__ == "builtins" and not isinstance(cls, RemoteType):
            error.__init__(*args)
    except Exception:
        error = cls.__new__(cls)
    try:
        error.args = tuple(args)
    except Exception:
        pass
    return error


def set_apart(error):
    """A KeyboardInterrupt of the other side as an exception that ends a test, and not the runner."""
    made = SET_APART[KeyboardInterrupt](*error.args)
    vars(made).update(vars(error))
    return made.with_traceback(error.__traceback__)


SET_APART = {each: type(each.__name__, (BaseException,), {"__module__": "builtins"}) for each in (*NEVER_REAL, KeyboardInterrupt)}
Decoder.error = decode_error

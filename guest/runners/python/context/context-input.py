"""The standard input of one piece of code: a text, or nothing."""

plain_input = builtins.input
NO_INPUT = "there is nothing to read: this code was given no input (the option `stdin` of a run)"
INPUT_ENDED = "there is nothing more to read: the input that this code was given has ended"


class Input:
    is_given = False


def give_input(text):
    """A file as descriptor 0, so that what the code starts reads on where the code has stopped."""
    if text is None:
        if not is_same(0, SAVED[0]):
            os.dup2(SAVED[0], 0)
    else:
        fd = os.memfd_create("stdin")
        data = text.encode("utf-8", "surrogatepass")
        while data:
            data = data[os.write(fd, data) :]
        os.lseek(fd, 0, os.SEEK_SET)
        os.dup2(fd, 0)
        os.close(fd)
    if text is not None or Input.is_given or not is_open("stdin"):
        sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8", errors="surrogateescape", closefd=False)
    Input.is_given = text is not None


def input(prompt="", /):
    try:
        return plain_input(prompt)
    except EOFError:
        raise EOFError(INPUT_ENDED if Input.is_given else NO_INPUT) from None


input.__doc__ = plain_input.__doc__

"""matplotlib's figures, where a program uses it: shown by show(), or when the piece of code has ended."""

import builtins
import io


def figure_png(value):
    """The picture of a figure; None for anything else."""
    figures = sys.modules.get("matplotlib.figure")
    if figures is None or not isinstance(value, getattr(figures, "Figure", ())):
        return None
    buffer = io.BytesIO()
    value.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def show_figures():
    """Shows what is open, and closes it: the next piece of code starts with none."""
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is None or not hasattr(pyplot, "get_fignums"):
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        if figure.get_axes() or figure.texts or figure.images:
            display.show(figure)
    pyplot.close("all")


plain_import = builtins.__import__


def import_and_look(*args, **keywords):
    """Stands in for __import__ until pyplot is there, to give it our show()."""
    module = plain_import(*args, **keywords)
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None and hasattr(pyplot, "switch_backend") and hasattr(pyplot, "show"):
        if builtins.__import__ is import_and_look:
            builtins.__import__ = plain_import
        pyplot.switch_backend("Agg")
        pyplot.show = lambda *args, **keywords: show_figures()
    return module

"""matplotlib's figures, where a program uses it: shown by show(), or when the piece of code has ended."""

from io import BytesIO


def figure_png(value):
    """The picture of a figure; None for anything else."""
    figures = MODULES.get("matplotlib.figure")
    if figures is None or not isinstance(value, getattr(figures, "Figure", ())):
        return None
    buffer = BytesIO()
    value.savefig(buffer, format="png", bbox_inches="tight")
    return buffer.getvalue()


def show_figures():
    """Shows what is open, and closes it: the next piece of code starts with none."""
    pyplot = MODULES.get("matplotlib.pyplot")
    if pyplot is None or not hasattr(pyplot, "get_fignums"):
        return
    for number in pyplot.get_fignums():
        figure = pyplot.figure(number)
        if figure.get_axes() or figure.texts or figure.images:
            display.show(figure)
    pyplot.close("all")


taught_pyplot = None


def teach_pyplot(pyplot):
    global taught_pyplot
    if hasattr(pyplot, "switch_backend") and hasattr(pyplot, "show"):
        taught_pyplot = pyplot
        pyplot.switch_backend("Agg")
        pyplot.show = lambda *args, **keywords: show_figures()

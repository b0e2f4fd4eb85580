"""What values look like: a text, and whatever richer forms they offer, by MIME type."""

import binascii

binascii = Kept(binascii)

# Jupyter's names for the methods by which a value shows itself.
FORMS = (
    ("text/html", "_repr_html_"),
    ("text/markdown", "_repr_markdown_"),
    ("image/svg+xml", "_repr_svg_"),
    ("image/png", "_repr_png_"),
    ("image/jpeg", "_repr_jpeg_"),
    ("text/latex", "_repr_latex_"),
    ("application/json", "_repr_json_"),
)

# What every result takes of the budget besides its forms.
RESULT_COST = 200
# What the host reads of JSON at once.
MAX_VALUES = 50_000


class Display:
    """Sends values to the host, within a budget for each piece of code."""

    def __init__(self, wire):
        self.wire = wire
        self.run = 0
        self.budget = 0
        self.cut = False

    def begin(self, run, budget):
        self.run, self.budget, self.cut = run, budget, False

    def show(self, *values, main=False):
        for value in values:
            self.send(bundle_of(value), main)

    def send(self, bundle, main=False):
        """What finds no room is left out, and said so."""
        if os.getpid() != PROCESS:  # a process that the code forked has no say here
            return
        if self.budget < RESULT_COST:
            self.cut = True
            return
        self.budget -= RESULT_COST
        kept, left_out = {}, []
        for kind, data in bundle.items():
            text = encode(data)
            size = len(text)
            many = not isinstance(data, str) and sum(map(text.count, (b",", b"[", b"{"))) >= MAX_VALUES
            if size > self.budget or many:
                left_out.append("%s of %d bytes" % (kind, size))
            else:
                self.budget -= size
                kept[kind] = data
        if left_out:
            self.cut = True
            note = "(left out, too large: %s)" % ", ".join(left_out)
            self.budget -= len(note)
            text = kept.get("text/plain")
            kept["text/plain"] = note if text is None else "%s %s" % (text, note)
        if kept:
            self.wire.send({"type": "result", "run": self.run, "data": kept, "main": main})


def bundle_of(value):
    """MIME types and what the value is in each; a form that fails is left out, the plain one is the error's."""
    bundle = {}
    whole = call_form(value, "_repr_mimebundle_")
    if isinstance(whole, tuple) and whole:
        whole = whole[0]
    if isinstance(whole, dict):
        bundle.update((kind, data) for kind, data in whole.items() if isinstance(kind, str))
    for kind, name in FORMS:
        if kind not in bundle:
            data = call_form(value, name)
            if isinstance(data, tuple) and data:
                data = data[0]
            if data is not None:
                bundle[kind] = data
    png = figure_png(value)
    if png is not None:
        bundle["image/png"] = png
    if "text/plain" not in bundle:
        bundle = {"text/plain": repr(value), **bundle}
    return {kind: sendable(kind, data) for kind, data in bundle.items()}


def display_values(*values, raw=False, display_id=None, **_):
    """What code has as `display`, with the options of IPython's."""
    for value in values:
        display.send({kind: sendable(kind, data) for kind, data in value.items()} if raw else bundle_of(value))
    if display_id is not None:
        provide_ipython()
        return MODULES["IPython.display"].DisplayHandle(None if display_id is True else display_id)


def call_form(value, name):
    # On the class: a proxy has an answer to every name.
    method = getattr(type(value), name, None)
    if method is None or isinstance(value, type):
        return None
    try:
        return method(value)
    except Exception:
        return None


def sendable(kind, data):
    if isinstance(data, (bytes, bytearray)):
        return binascii.b2a_base64(data, newline=False).decode()
    if isinstance(data, str):
        return data
    try:
        text = encode_text(data)
    except (TypeError, ValueError, RecursionError):
        return str(data)
    return decode(text) if kind.endswith("json") else text

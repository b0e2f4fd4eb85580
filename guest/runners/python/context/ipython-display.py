"""The names of IPython's `IPython.display`, as far as a value that is shown needs them."""

import base64
import html
import json
import mimetypes
import os
import uuid
from builtins import display

__all__ = [
    "Audio", "Code", "DisplayHandle", "DisplayObject", "FileLink", "FileLinks", "GeoJSON", "HTML", "IFrame", "Image", "JSON",
    "Javascript", "Latex", "Markdown", "Math", "Pretty", "ProgressBar", "SVG", "ScribdDocument", "TextDisplayObject", "Video",
    "VimeoVideo", "YouTubeVideo", "clear_output", "display", "display_html", "display_javascript", "display_jpeg",
    "display_json", "display_latex", "display_markdown", "display_pdf", "display_png", "display_pretty", "display_svg",
    "publish_display_data", "set_matplotlib_close", "set_matplotlib_formats", "update_display",
]  # fmt: skip


def _is_file(path):
    try:
        return os.path.isfile(path)
    except ValueError:
        return False


class DisplayObject:
    """Data, or a file's. An address is left to the reader: nothing is fetched."""

    _binary = False
    metadata = None

    def __init__(self, data=None, url=None, filename=None, metadata=None):
        if isinstance(data, os.PathLike):
            data, filename = None, os.fspath(data)
        if isinstance(data, str) and url is None and filename is None:
            if data.startswith(("http://", "https://")):
                data, url = None, data
            elif _is_file(data):
                data, filename = None, data
            elif self._binary:
                raise FileNotFoundError("there is no file %r" % data)
        if filename is not None:
            with open(filename, "rb" if self._binary else "r", **({} if self._binary else {"encoding": "utf-8"})) as file:
                data = file.read()
        self.data, self.url, self.filename = data, url, filename
        if metadata:
            self.metadata = metadata

    def __repr__(self):
        return "<IPython.core.display.%s object>" % type(self).__name__


class TextDisplayObject(DisplayObject):
    pass


def _text(name, method):
    def show(self):
        return self.data

    return type(name, (TextDisplayObject,), {method: show, "__module__": __name__})


HTML = _text("HTML", "_repr_html_")
Markdown = _text("Markdown", "_repr_markdown_")
SVG = _text("SVG", "_repr_svg_")
Latex = _text("Latex", "_repr_latex_")


class Math(TextDisplayObject):
    def _repr_latex_(self):
        return "$\\displaystyle %s$" % self.data.strip("$")


class Pretty(TextDisplayObject):
    def __repr__(self):
        return self.data


class Javascript(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, lib=None, css=None):
        super().__init__(data, url, filename)

    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": repr(self), "application/javascript": self.data or "import(%s)" % json.dumps(self.url)}


class JSON(DisplayObject):
    def __init__(self, data=None, url=None, filename=None, expanded=False, metadata=None, root="root", **keywords):
        super().__init__(data, url, filename, metadata)
        if isinstance(self.data, str):
            self.data = json.loads(self.data)

    def _repr_json_(self):
        return self.data


class GeoJSON(JSON):
    def _repr_mimebundle_(self, include=None, exclude=None):
        return {"text/plain": repr(self), "application/geo+json": self.data}


class Code(TextDisplayObject):
    def __init__(self, data=None, url=None, filename=None, language=None):
        super().__init__(data, url, filename)
        self.language = language or ""

    def __repr__(self):
        return self.data

    def _repr_html_(self):
        return "<pre><code>%s</code></pre>" % html.escape(self.data)

    def _repr_markdown_(self):
        return "```%s\n%s\n```" % (self.language, self.data)


def _attributes(**values):
    return "".join(' %s="%s"' % (name, html.escape(str(value))) for name, value in values.items() if value is not None)


def _data_url(data, kind):
    return "data:%s;base64,%s" % (kind, base64.b64encode(data).decode())


class Image(DisplayObject):
    _binary = True

    def __init__(self, data=None, url=None, filename=None, format=None, embed=None, width=None, height=None, retina=False,
                 unconfined=False, metadata=None, alt=None):  # fmt: skip
        super().__init__(data, url, filename, metadata)
        self.width, self.height, self.alt = width, height, alt
        name = (self.filename or self.url or "").lower()
        start = self.data[:4] if isinstance(self.data, bytes) else b""
        guessed = "jpeg" if name.endswith((".jpg", ".jpeg")) or start[:2] == b"\xff\xd8" else "gif" if name.endswith(".gif") or start[:3] == b"GIF" else "png"
        self.format = (format or guessed).lower().replace("jpg", "jpeg")

    def _repr_mimebundle_(self, include=None, exclude=None):
        if self.data is None:
            source = _attributes(src=self.url, width=self.width, height=self.height, alt=self.alt)
            return {"text/plain": repr(self), "text/html": "<img%s/>" % source}
        return {"text/plain": repr(self), "image/" + self.format: self.data}


class _Media(DisplayObject):
    _binary = True
    _tag = _kind = ""

    def __init__(self, data=None, filename=None, url=None, mimetype=None, embed=None, width=None, height=None, **keywords):
        super().__init__(data, url, filename)
        self.mimetype = mimetype or mimetypes.guess_type(self.filename or self.url or "")[0] or self._kind
        self.size = {"width": width, "height": height}

    def _repr_html_(self):
        source = self.url if self.data is None else _data_url(self.data, self.mimetype)
        return "<%s controls%s></%s>" % (self._tag, _attributes(src=source, **self.size), self._tag)


class Video(_Media):
    _tag, _kind = "video", "video/mp4"


class Audio(_Media):
    _tag, _kind = "audio", "audio/wav"

    def __init__(self, data=None, filename=None, url=None, embed=None, rate=None, autoplay=False, normalize=True, **keywords):
        if data is not None and not isinstance(data, (str, bytes, os.PathLike)):
            data = self._wave(data, rate, normalize)
        super().__init__(data, filename, url, **keywords)

    @staticmethod
    def _wave(samples, rate, normalize):
        import array
        import io
        import wave

        if rate is None:
            raise ValueError("rate must be specified when data is a list or array of audio samples.")
        rows = [row if hasattr(row, "__len__") else [row] for row in zip(*samples)] if hasattr(samples[0], "__len__") else [[each] for each in samples]
        most = max((abs(each) for row in rows for each in row), default=1) if normalize else 1
        file = io.BytesIO()
        with wave.open(file, "wb") as out:
            out.setnchannels(len(rows[0]) if rows else 1)
            out.setsampwidth(2)
            out.setframerate(int(rate))
            out.writeframes(array.array("h", (int(each / (most or 1) * 32767) for row in rows for each in row)).tobytes())
        return file.getvalue()


class IFrame:
    def __init__(self, src, width, height, extras=None, **keywords):
        self.src, self.width, self.height, self.params = src, width, height, keywords

    def _repr_html_(self):
        from urllib.parse import urlencode

        source = self.src + ("?" + urlencode(self.params) if self.params else "")
        return "<iframe%s frameborder=\"0\" allowfullscreen></iframe>" % _attributes(width=self.width, height=self.height, src=source)


def _frame(name, address):
    def __init__(self, id, width=400, height=300, **keywords):
        IFrame.__init__(self, address % id, width, height, **keywords)
        self.id = id

    return type(name, (IFrame,), {"__init__": __init__, "__module__": __name__})


YouTubeVideo = _frame("YouTubeVideo", "https://www.youtube.com/embed/%s")
VimeoVideo = _frame("VimeoVideo", "https://player.vimeo.com/video/%s")
ScribdDocument = _frame("ScribdDocument", "https://www.scribd.com/embeds/%s/content")


class FileLink:
    def __init__(self, path, url_prefix="", result_html_prefix="", result_html_suffix="<br>"):
        self.path, self.url_prefix = str(path), url_prefix

    def __repr__(self):
        return os.path.abspath(self.path)

    def _repr_html_(self):
        return "<a%s>%s</a><br>" % (_attributes(href=self.url_prefix + self.path), html.escape(self.path))


class FileLinks(FileLink):
    def _files(self):
        return sorted(os.path.join(folder, name) for folder, _, names in os.walk(self.path) for name in names)

    def __repr__(self):
        return "\n".join(self._files())

    def _repr_html_(self):
        return "".join(FileLink(path, self.url_prefix)._repr_html_() for path in self._files())


class DisplayHandle:
    """There is nothing that could be changed in its place: an update is shown as well."""

    def __init__(self, display_id=None):
        self.display_id = display_id or uuid.uuid4().hex

    def display(self, value, **keywords):
        display(value, **keywords)

    update = display


class ProgressBar:
    def __init__(self, total):
        self.total, self.progress = total, 0

    def __repr__(self):
        return "%d/%d" % (self.progress, self.total)

    def display(self):
        display(self)

    update = display

    def __iter__(self):
        display(self)
        self.progress = -1
        return self

    def __next__(self):
        self.progress += 1
        if self.progress >= self.total:
            raise StopIteration
        return self.progress


def update_display(value, *, display_id, **keywords):
    display(value, **keywords)


def publish_display_data(data, metadata=None, **keywords):
    display(data, raw=True)


def clear_output(wait=False):
    """What was shown has been told already."""


def set_matplotlib_formats(*formats, **keywords):
    pass


def set_matplotlib_close(close=True):
    pass


def _shows(kind):
    def show(*values, raw=False, metadata=None):
        for value in values:
            display({kind: value} if raw else value, raw=raw)

    return show


display_html, display_markdown, display_latex = _shows("text/html"), _shows("text/markdown"), _shows("text/latex")
display_svg, display_png, display_jpeg = _shows("image/svg+xml"), _shows("image/png"), _shows("image/jpeg")
display_json, display_pdf = _shows("application/json"), _shows("application/pdf")
display_javascript, display_pretty = _shows("application/javascript"), _shows("text/plain")

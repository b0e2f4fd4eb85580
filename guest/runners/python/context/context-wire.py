"""Messages to and from the host, and modules as they were when we started."""

import os
import struct
from _thread import get_ident

import _signal as signal  # without the classes that the modules of that name make first
import _socket as socket
from _json import encode_basestring, make_encoder, make_scanner  # what `json` is made of: code may change that

CONTROL = 3
MAX_MESSAGE = 128 << 20
MODULES = sys.modules


class Kept:
    """A module's names as they are now: what code puts in their place is for that code only."""

    def __init__(self, module):
        self.__dict__.update(vars(module))


os = Kept(os)
struct = Kept(struct)
signal = Kept(signal)
socket = Kept(socket)


class Wire:
    """The socket to the host. A message may bring a descriptor along."""

    def __init__(self, fd):
        os.set_inheritable(fd, False)
        self.socket = socket.socket(fileno=fd)

    def receive(self):
        """The next message and what came with it; None at the end."""
        head, fds = self._read(4)
        if head is None:
            return None, fds
        body, more = self._read(struct.unpack("<I", head)[0])
        return (None if body is None else decode(body.decode())), fds + more

    def send(self, message):
        text = encode(message)
        # An interrupt must not leave half a message, and one that comes just now not keep the next from being heard.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
            self.socket.sendall(struct.pack("<I", len(text)) + text)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def close(self):
        self.socket.close()

    def _read(self, size):
        if size > MAX_MESSAGE:
            raise ValueError("a message of %d bytes" % size)
        data, fds = bytearray(), []
        while len(data) < size:
            part, ancillary, _, _ = self.socket.recvmsg(min(size - len(data), 1 << 20), socket.CMSG_SPACE(16))
            fds += descriptors(ancillary)
            if not part:
                return None, fds
            data += part
        return bytes(data), fds


class JsonSettings:
    """What `json.JSONDecoder` tells its scanner; JSON cannot express NaN."""

    strict, object_hook, object_pairs_hook = True, None, None
    parse_float, parse_int, parse_constant = float, int, staticmethod(lambda _: None)


def decode(text):
    return make_scanner(JsonSettings)(text, 0)[0]


def encode_text(value):
    return "".join(make_encoder({}, no_json, encode_basestring, None, ": ", ", ", False, False, True)(value, 0))


def encode(value):
    return encode_text(value).encode("utf-8", "backslashreplace")


def no_json(value):
    raise TypeError("no JSON")


def descriptors(ancillary):
    fds = []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds += [int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data) - 3, 4)]
    return fds

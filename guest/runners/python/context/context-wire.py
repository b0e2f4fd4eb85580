"""Messages to and from the host."""

import json
import os
import struct

import _signal as signal  # without the classes that the modules of that name make first
import _socket as socket

CONTROL = 3
MAX_MESSAGE = 128 << 20


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
        return (None if body is None else json.loads(body)), fds + more

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


def encode(value):
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")


def descriptors(ancillary):
    fds = []
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds += [int.from_bytes(data[at : at + 4], sys.byteorder) for at in range(0, len(data) - 3, 4)]
    return fds
